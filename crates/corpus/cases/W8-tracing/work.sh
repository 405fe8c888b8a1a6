set -eu
cat > program.c << 'EOF'
#include <stdio.h>
int answer(int n) { return n + 2; }
int main(void) { printf("%d\n", answer(40)); return 0; }
EOF
gcc -g -O0 -o program program.c
[ "$(./program)" = 42 ]
strace -f -o trace ./program > /dev/null
grep -q 'write(1, "42' trace
gdb -q -batch -nx -ex 'break answer' -ex run -ex 'print n' -ex backtrace ./program > debugged 2>&1 < /dev/null
grep -q '= 40' debugged
grep -q 'in main' debugged
