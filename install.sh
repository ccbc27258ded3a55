#!/usr/bin/env bash
# Sets keepthread up: a virtual environment of its own, the hooks in the host's settings, then the main job once on a
# sample session. Run again, it upgrades. `./install.sh --test` sets up a second environment beside it and runs all tests.
# `install.sh --plugin [FOLDER]` makes the environment of the plugin, in its data folder, and writes no settings.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # as sh install.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Whatever its user has set for other work: everything goes into our own virtual environment, and comes from there.
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0
# In Git Bash on Windows: where its virtual environments keep their programs, and the launcher first, since python3 there
# may be the store's stub. For PowerShell there is install.ps1. Both are unverified.
bin=bin
names=(python3 python3.14 python3.13 python3.12 python3.11 python3.10 python)
if [[ ${OS:-} == Windows_NT ]]; then
  bin=Scripts
  names=(py python python3)
fi

say() { printf '%s\n' "$*"; }
fail() {
  printf 'keepthread: %s\n' "$1" >&2
  [[ -z ${2:-} ]] || printf '  %s\n' "$2" >&2
  exit 1
}

modern() { "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 10))' >/dev/null 2>&1; }

absolute() { [[ $1 == /* || $1 == [A-Za-z]:[\\/]* ]]; }

find_python() {
  local name
  if [[ -n ${KEEPTHREAD_PYTHON:-} ]]; then
    modern "$KEEPTHREAD_PYTHON" ||
      fail "KEEPTHREAD_PYTHON is no Python 3.10 or later: $KEEPTHREAD_PYTHON" "Name another, or unset it: one is looked for."
    command -v "$KEEPTHREAD_PYTHON"
    return
  fi
  for name in "${names[@]}"; do
    if modern "$name"; then
      command -v "$name"
      return
    fi
  done
  fail "Python 3.10 or later was not found" "Install it, or name one: KEEPTHREAD_PYTHON=/path/to/python3 ./install.sh"
}

make_venv() { # make_venv FOLDER
  local python
  if modern "$1/$bin/python" && "$1/$bin/python" -m pip --version >/dev/null 2>&1; then
    [[ -z ${KEEPTHREAD_PYTHON:-} ]] ||
      say "     The virtual environment that is there is kept; remove it to have KEEPTHREAD_PYTHON make a new one."
    return
  fi
  python=$(find_python)
  # What is no virtual environment is somebody's folder.
  [[ ! -e $1 || -e $1/pyvenv.cfg ]] || fail "$1 is in the way: it is no virtual environment" "Move it away."
  rm -rf "$1"
  (umask 077 && mkdir -p "$(dirname "$1")")
  "$python" -m venv "$1" >/dev/null 2>&1 || {
    rm -rf "$1"
    fail "$python cannot make virtual environments" "On Debian and Ubuntu: apt install python3-venv"
  }
}

pip_install() { # pip_install VENV ARGUMENTS...
  local venv=$1
  shift
  "$venv/$bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
    fail "pip could not install keepthread" "The lines above say why; a proxy or an own index is set with pip's variables."
}

# pip's own start script does not survive a quote or a dollar sign in its path.
make_program() { # make_program VENV
  "$1/$bin/keepthread" --version >/dev/null 2>&1 && return
  local quoted
  quoted=$(printf '%s' "$1/$bin/python" | sed "s/'/'\\\\''/g")
  printf '#!/bin/sh\nexec '"'%s'"' -I -m keepthread "$@"\n' "$quoted" >"$1/$bin/keepthread"
  "$1/$bin/keepthread" --version >/dev/null 2>&1 || fail "$1/$bin/keepthread does not start"
}

find_config() {
  config=${CLAUDE_CONFIG_DIR:-}
  if [[ -z $config ]]; then
    absolute "${HOME:-}" && [[ -d $HOME ]] ||
      fail "There is no home folder '${HOME:-}'" "Set HOME or CLAUDE_CONFIG_DIR to a folder."
    config=$HOME/.claude
  fi
  absolute "$config" || fail "CLAUDE_CONFIG_DIR is a relative path: $config" "Set it to an absolute path."
}

install_product() {
  local config
  find_config
  local venv=$config/keepthread/venv
  say "1/3  Setting up $venv"
  make_venv "$venv"
  pip_install "$venv" --upgrade "$here" # the same version from a newer checkout is taken too
  make_program "$venv"
  say "2/3  Writing the hooks into the host's settings"
  "$venv/$bin/keepthread" install
  say "3/3  The main job on a sample session, with the embedded engine"
  "$venv/$bin/python" -I "$here/templates/sample/run.py"
  say
  say "Installed. Compaction in Claude Code now keeps the thread; check with: $(printf '%q' "$venv/$bin/keepthread") doctor"
}

# The host names the folder only to hooks. From its cache, <plugins>/cache/<marketplace>/keepthread/<version>, it follows.
plugin_data() {
  local folder market
  market=$(basename "$(dirname "$(dirname "$here")")")
  folder=$(dirname "$(dirname "$(dirname "$(dirname "$here")")")")/data/keepthread-${market//[^A-Za-z0-9_-]/-}
  [[ $here == */plugins/cache/*/keepthread/* ]] ||
    fail "this is no installed plugin" "Name its data folder: install.sh --plugin FOLDER"
  printf '%s' "$folder"
}

prepare_plugin() { # prepare_plugin [FOLDER]
  local config data
  find_config
  data=${1:-${CLAUDE_PLUGIN_DATA:-}}
  [[ -n $data ]] || data=$(plugin_data)
  absolute "$data" || fail "the plugin's data folder is a relative path: $data" "Name it by an absolute one."
  say "Setting up $data/venv"
  make_venv "$data/venv"
  pip_install "$data/venv" --upgrade "$here"
  make_program "$data/venv"
  rm -f "$config/keepthread/plugin-told"
  say "The plugin is ready. Compaction in Claude Code now keeps the thread."
}

run_tests() {
  local venv=${KEEPTHREAD_TEST_VENV:-$here/.venv}
  say "Setting up $venv"
  make_venv "$venv"
  pip_install "$venv" --upgrade pip
  pip_install "$venv" --editable "$here" --group "$here/pyproject.toml:dev"
  cd "$here"
  "$venv/$bin/ruff" check .
  "$venv/$bin/ruff" format --check .
  "$venv/$bin/mypy"
  "$venv/$bin/pytest" -q -n auto --dist worksteal "$@"
}

case ${1:-} in
  --test)
    shift
    run_tests "$@"
    ;;
  --plugin)
    shift
    prepare_plugin "$@"
    ;;
  -h | --help)
    say "./install.sh                    sets keepthread up or upgrades it"
    say "./install.sh --test [TESTS]     runs the linters, and all tests or those named"
    say "./install.sh --plugin [FOLDER]  makes the environment of the plugin"
    say "KEEPTHREAD_PYTHON=PATH names the Python to use. More: docs/install.md"
    ;;
  "") install_product ;;
  *) fail "unknown option $1" "./install.sh --help names what there is." ;;
esac
