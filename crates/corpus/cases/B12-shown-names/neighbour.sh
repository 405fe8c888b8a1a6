# Ordinary names in other scripts are shown as they are.
set -eu
echo x > 'naïve – größer.txt'
echo x > 'with space'
