# Looking at mounts works.
set -eu
grep -q ' / ' /proc/self/mounts
grep -q ' / ' /proc/self/mountinfo
df . > /dev/null
stat -f . > /dev/null
