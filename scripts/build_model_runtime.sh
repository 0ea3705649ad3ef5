#!/bin/sh
# Installs the local model runtime (llama.cpp, compiled from source once) and the small bundled model.
# usage: build_model_runtime.sh VENV foreground|background
# In the foreground it shows each compiled file; in the background the app is usable meanwhile.
set -u
venv=$1
mode=$2
log=$venv/model-runtime.log
done_mark=$venv/.model-runtime
running=$venv/.model-runtime.pid

[ -e "$done_mark" ] && exit 0

install() {
    "$venv/bin/python" -m pip install --verbose --editable '.[local-model]' >"$log" 2>&1 &&
        touch "$done_mark"
    status=$?
    rm -f "$running"
    return $status
}

already_running() { [ -e "$running" ] && kill -0 "$(cat "$running")" 2>/dev/null; }

show_progress() { # the compiler's "[12/140] Building ..." lines, one place, until process $1 ends
    last=""
    while kill -0 "$1" 2>/dev/null; do
        now=$(grep -oE '\[[0-9]+/[0-9]+\]' "$log" 2>/dev/null | tail -n 1)
        if [ -n "$now" ] && [ "$now" != "$last" ]; then
            if [ -t 1 ]; then printf '\r  compiling llama.cpp %s ' "$now"; else
                case $now in *0/*) echo "  compiling llama.cpp $now" ;; esac
            fi
            last=$now
        fi
        sleep 1
    done
    [ -t 1 ] && printf '\r\033[K'
    return 0
}

if already_running; then
    [ "$mode" = background ] && exit 0
    echo "The model runtime is being built already; waiting for it"
    show_progress "$(cat "$running")"
    [ -e "$done_mark" ] && exit 0
fi

if [ "$mode" = background ]; then
    echo "The local model runtime is being built in the background (minutes, once); log: $log"
    (trap '' INT HUP; install) </dev/null >/dev/null 2>&1 &
    echo $! >"$running"
    exit 0
fi

echo "Installing the local model runtime: llama.cpp is compiled once, up to 10 minutes on two cores; log: $log"
install &
worker=$!
echo $worker >"$running"
show_progress $worker
if wait $worker || [ -e "$done_mark" ]; then exit 0; fi
echo "The model runtime could not be built. The end of $log says:" >&2
tail -n 15 "$log" >&2
exit 1
