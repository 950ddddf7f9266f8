# Creates the site, and writes the keys of site and worker and the rules for the NATS server, unless
# they exist. Starts the site for a moment, because it creates the tables of the database.
set -eu
umask 077
[ ! -e /fleet/rules.conf ] || exit 0
# shellcheck disable=SC2086 # the variable has several options
fleet() { millibox site fleet $SITE "$@"; }
start() {
    # shellcheck disable=SC2086
    millibox site $SITE --backend rlimit --workers 1 --listen 127.0.0.1:8090 &
    site=$!
}

start
attempts=120
until fleet site >/fleet/site.key 2>/tmp/why; do
    attempts=$((attempts - 1))
    [ "$attempts" -gt 0 ] || { cat /tmp/why >&2; exit 1; }
    sleep 1
    # The database may not accept connections yet.
    kill -0 "$site" 2>/dev/null || start
done
fleet add worker-1 >/fleet/worker-1.key
fleet rules >/fleet/rules.conf.new
# The NATS server may have a different user. The file contains no secrets.
chmod 644 /fleet/rules.conf.new
kill "$site"
wait "$site" || true
mv /fleet/rules.conf.new /fleet/rules.conf
