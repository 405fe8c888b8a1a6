//! Requests, events and problems that cross between Loop and its clients.
