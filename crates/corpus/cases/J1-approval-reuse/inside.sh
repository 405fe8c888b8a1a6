#!/bin/bash
# What runs says under which label it was started; the label is no part of what was asked about.
. "$(dirname "$0")/lib.sh"
case $LABEL in
    approved) echo "ran as approved: $*" ;;
    *) effect "$LABEL" "ran: $*" ;;
esac
