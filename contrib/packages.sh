# Which Debian packages the build, the tests and the interoperability tests need, and how to get
# them. Sourced by contrib/check and contrib/quickstart; it defines names and runs nothing.
# It must never ask a question and never remove anything.
# shellcheck shell=sh

PACKAGES_BUILD="build-essential autoconf automake autoconf-archive pkg-config
libevent-dev libjson-c-dev libcurl4-openssl-dev libsqlite3-dev libyaml-dev ca-certificates"
PACKAGES_TEST="libcmocka-dev python3 openssl git mandoc ripgrep binutils procps"
PACKAGES_INTEROP="nodejs npm"

# True when the package manager says that the package is installed.
packages_have() {
	test "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed"
}

# The programs that a package from elsewhere may provide just as well.
packages_have_otherwise() {
	case $1 in
	nodejs) command -v node >/dev/null ;;
	npm) command -v npm >/dev/null ;;
	python3) command -v python3 >/dev/null && python3 -c 'import sqlite3, ssl' 2>/dev/null ;;
	ripgrep) command -v rg >/dev/null ;;
	git) command -v git >/dev/null ;;
	*) return 1 ;;
	esac
}

# packages_missing NAME...: prints those that are not there.
packages_missing() {
	for package in "$@"; do
		packages_have_otherwise "$package" || packages_have "$package" || echo "$package"
	done
}

# Prints the prefix that gives the rights to install, "-" when there is none.
packages_rights() {
	if test "$(id -u)" = 0; then
		echo env
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || test -t 0; }; then
		echo "sudo env"
	else
		echo -
	fi
}

# packages_need NAME...: installs what is missing; says what to do and fails where it cannot.
packages_need() {
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		echo "This is not a Debian-like system; the names of what is needed there are:" >&2
		echo "  $*" | tr '\n' ' ' | fmt -w 76 >&2
		echo "Going on with what is installed." >&2
		return 0
	fi
	missing=$(packages_missing "$@" | tr '\n' ' ')
	test -z "$missing" && return 0
	rights=$(packages_rights)
	if test "$rights" = -; then
		echo "Missing packages; as root run: apt-get install $missing" >&2
		return 1
	fi
	echo "Installing: $missing"
	log=$(mktemp)
	# shellcheck disable=SC2086 # both are lists of words
	if { $rights DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
	    $rights DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
		rm -f "$log"
		return 0
	fi
	tail -n 20 "$log" >&2
	rm -f "$log"
	echo "Could not install: $missing" >&2
	return 1
}

# packages_jobs: how many compilers to run at once.
packages_jobs() {
	nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}
