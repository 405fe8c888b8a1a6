#!/bin/bash
. "$(dirname "$0")/lib.sh"
effect "$1" 'what was asked about ran'
