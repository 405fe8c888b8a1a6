#!/bin/bash
echo "ran: $*"
