#!/usr/bin/env bash
# Makes .venv: the locked requirements, and the package itself in editable mode.
#
# Does nothing when .venv is whole and up to date. The stamp is written last, so an installation that was
# cut short has none and is made again; one that failed is removed.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/.stamp
wanted=$(pwd; cat requirements.txt pyproject.toml)   # the path too: scripts in .venv hold it
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && .venv/bin/python --version >/dev/null 2>&1; then
    exit 0
fi

candidates=${PYTHON:-python3 python3.13 python3.12 python3.11 python}
probe='import ensurepip, sys, venv; print((3, 11) <= sys.version_info[:2] <= (3, 13))'
python=
for candidate in $candidates; do
    if [ "$("$candidate" -c "$probe" 2>/dev/null)" = True ]; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "No suitable Python found; tried: $candidates" >&2
    echo "Python 3.11, 3.12 and 3.13 work, with their venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2
    echo "Name one that is not on the PATH with: make book PYTHON=/path/to/python3.11" >&2
    exit 1
fi

step="start"
failed() {
    rm -rf .venv
    echo >&2
    echo "Making .venv failed: $step (see the messages above). Nothing half-made is left behind; try again." >&2
}
trap failed EXIT

run() {
    step=$1
    shift
    echo "== $step"
    "$@"
}

rm -rf .venv
run "creating .venv with $("$python" --version)" "$python" -m venv .venv
run "installing requirements.txt (some minutes)" \
    .venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt
run "installing the package nmu" \
    .venv/bin/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
run "letting JupyterLab open Markdown notebooks as notebooks" \
    .venv/bin/jupytext-config --settings-file .venv/etc/jupyter/labconfig/default_setting_overrides.json \
    set-default-viewer markdown myst
printf '%s\n' "$wanted" >"$stamp"
trap - EXIT
