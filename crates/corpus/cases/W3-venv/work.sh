set -eu
python3 -m venv --without-pip environment
[ -L environment/bin/python3 ] || [ -x environment/bin/python3 ]
. environment/bin/activate
[ "$(python3 -c 'import sys; print(sys.prefix)')" = "$PWD/environment" ]
printf 'def test():\n    assert 1 + 1 == 2\n' > test_sum.py
python3 -c 'import sys; sys.path.insert(0, "."); import test_sum; test_sum.test()'
