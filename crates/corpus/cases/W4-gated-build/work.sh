set -eu
for number in 1 2 3 4 5 6; do
    printf 'int part%s(void) { return %s; }\n' "$number" "$number" > "part$number.c"
    printf 'int part%s(void);\n' "$number"
done > parts.h
cat > main.c << 'END'
#include <stdio.h>
#include "parts.h"
int main(void) { printf("%d\n", part1() + part2() + part3() + part4() + part5() + part6()); return 0; }
END
cat > Makefile << 'END'
parts := $(patsubst %.c,%.o,$(wildcard part*.c)) main.o
sum: $(parts)
	gcc -o $@ $^
%.o: %.c parts.h
	gcc -O1 -c -o $@ $<
check: sum
	@./sum | grep -qx 21
	@for word in a b c; do echo $$word; done | sort | tail -n 1 | grep -qx c
.PHONY: check
END
make -s -j4 check
printf '#!/usr/bin/env python3\nimport subprocess\nprint(subprocess.check_output(["./sum"]).decode())\n' > run
chmod +x run
[ "$(./run | head -n 1)" = 21 ]
git add -A
git commit -q -m 'Built'
