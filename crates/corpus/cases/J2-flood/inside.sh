#!/bin/bash
echo "ran $*"
