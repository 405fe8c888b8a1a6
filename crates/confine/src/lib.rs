//! Carries out a plan, reports what holds, and becomes the init of the sandbox.
