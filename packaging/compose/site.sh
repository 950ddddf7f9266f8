# Starts a process of the site. Workers judge.
set -eu
# shellcheck disable=SC2086 # the variable has several options
exec millibox site $SITE --process "$NAME" --listen 0.0.0.0:8090 --behind-proxy --backend rlimit \
    --judge-here no --nats nats://nats:4222 --nats-creds /fleet/site.key
