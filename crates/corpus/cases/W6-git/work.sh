. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/site.sh"
set -eu

# Where nothing takes ssh for https, and nobody brings the key, the person has said so.
if ! git config --get-regexp '^url\..*\.insteadof$' > /dev/null; then
    export GIT_CONFIG_COUNT=2
    export GIT_CONFIG_KEY_0=url.https://registry.example.com/.insteadOf
    export GIT_CONFIG_VALUE_0=git@registry.example.com:
    export GIT_CONFIG_KEY_1=http.extraHeader GIT_CONFIG_VALUE_1="$(who)"
fi

number=0
for url in "$url" git@registry.example.com:git/site.git; do
    number=$((number + 1))
    rm -rf clone
    git clone -q "$url" clone
    cd clone
    git switch -q -c feature
    git commit -q --allow-empty -m "Work $number"
    git push -q -u origin "HEAD:refs/heads/loop/feature-$number"
    git fetch -q origin
    [ "$(git rev-parse "origin/loop/feature-$number")" = "$(git rev-parse HEAD)" ]
    cd ..
done
