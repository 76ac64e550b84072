#!/bin/sh
# usage: follow_tutorial.sh COMMAND
#
# Runs a command of the tutorial where the page says it is typed: on a PostgreSQL server with four
# clients, which this makes in the lab's guest (where it calls itself). SQL goes to psql. DuckDB does
# not run in the guest, so what is recorded there is loaded here, outside.
set -eu

if [ -z "${RCP_LAB:-}" ]; then
	cd "$(dirname "$0")/.."
	out=build/lab/tutorial
	rm -rf "$out"
	# shellcheck disable=SC2016
	.venv/bin/rcp-lab run -q --timing --memory 2048 --timeout 2400 --out "$out" \
		--input .ci/follow_tutorial.sh --input fixtures/scenarios -e "COMMAND=$1" \
		-- 'sh "$RCP_LAB_IN/inputs/follow_tutorial.sh" "$COMMAND"'
	[ -d "$out/slow.duckdb.spool" ] || exit 0
	.venv/bin/rcp-trace recover "$out/slow.duckdb.spool" -o "$out/slow.duckdb"
	exec .venv/bin/rcp-trace report "$out/slow.duckdb"
fi

cd "$RCP_LAB_IN/inputs/scenarios"
# shellcheck source=/dev/null
. ./disk.sh
# shellcheck source=/dev/null
. ./postgresql.sh
sudo() { "$@"; }

make_disk 1024 4 300000
fresh_file_system
make_server "$MOUNT/data" </dev/null
start_server "$MOUNT/data"
pgbench -i -q -s 4 2>/dev/null
# Longer than the command needs; the guest ends with the command.
pgbench -n -N -c 4 -R 250 -T 100 >/dev/null 2>&1 &
cd /tmp
case $1 in
ALTER*) echo "$1" | psql -X -v ON_ERROR_STOP=1 ;;
*)
	eval "$(echo "$1" | sed "s:-o slow.duckdb:-o $RCP_LAB_OUT/slow.duckdb.spool:")"
	;;
esac
