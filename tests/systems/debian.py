# SPDX-License-Identifier: Apache-2.0
"""Debian's releases, as releases.toml has them, and their packages by an apt with a state of its own.

  debian.py sources RELEASE      where its packages come from, as lines of apt's sources.list
  debian.py kernels RELEASE      the names of its own test kernels
  debian.py version RELEASE      its number
  debian.py debug-source FOLDER  unpacks there the source of this release's debug kernel, once; prints its version
                                 and its archive
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("releases.toml")
OLDER = pathlib.Path(__file__).with_name("older.toml")


class Unknown(Exception):
    """A sentence for who asked."""


def releases():
    with open(TABLE, "rb") as file:
        return tomllib.load(file)


def archives():
    """The releases, and the older ones of which only packages are taken."""
    with open(OLDER, "rb") as file:
        return releases() | tomllib.load(file)


def codename():
    """That of this machine's Debian."""
    words = {}
    for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        words[name] = value.strip('"')
    name = words.get("VERSION_CODENAME", "")
    if name not in releases():
        raise Unknown(f"this is {words.get('PRETTY_NAME', 'no Debian')}; tests run on Debian {known_releases()}")
    return name


def known_releases():
    return ", ".join(f"{row['version']} ({name})" for name, row in releases().items())


def kernels_of(release):
    """The names of the test kernels that the release itself has, the oldest first."""
    return sorted(archives()[release].get("kernels", {}), key=version_key)


def kernels(release):
    """The test kernels there are on that release: name -> (release whose kernel it is, pattern of uname -r)."""
    found = {}
    for home, row in releases().items():
        for name, pattern in row["kernels"].items():
            if name not in found or home == release:
                found[name] = (home, pattern)
    return found


def kernel(name, release):
    """Its name, the release whose kernel it is, and the pattern; `name` may be stable, newest, and either with
    -rt behind it."""
    base, dash, flavour = name.partition("-")
    base = releases()[release].get(base, base) if base in ("stable", "newest") else base
    known = kernels(release)
    if base + dash + flavour not in known:
        raise Unknown(f"unknown kernel '{name}'; known: stable newest {' '.join(sorted(known, key=version_key))}")
    return base + dash + flavour, *known[base + dash + flavour]


def version_key(text):
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", text)]


class Apt:
    """apt-get and apt-cache with a release's packages, from where this machine's own come.  The machine's
    lists and its packages are left alone."""

    def __init__(self, release):
        if release not in archives():
            raise Unknown(f"there is no release '{release}'; there are: {known_releases()}")
        self.release = release
        self.folder = ROOT / "build/apt" / release

    def _sites(self):
        """The addresses of the archive and of its security updates."""
        own = codename()
        lines = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(SITE)"], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        sites = dict(line.split() for line in lines if len(line.split()) == 2)
        if own not in sites:
            raise Unknown(f"apt has no lists of {own} from the network; run apt-get update")
        return sites[own], sites.get(f"{own}-security")

    def sources(self):
        """Lines of apt's sources.list."""
        archive, security = self._sites()
        row = archives()[self.release]
        # A testing release's lists say that they end in a week, and mirrors may be older than that.
        deb = "deb [check-valid-until=no]" if row.get("testing") else "deb"
        return [f"{deb} {archive} {suite} main" for suite in row["suites"]] + \
               [f"{deb} {security} {suite} main" for suite in row["security"] if security]

    def _prepare(self):
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "sources.list").write_text("\n".join(self.sources()) + "\n", encoding="utf-8")
        (self.folder / "apt.conf").write_text(f"""Dir::Etc::SourceList "{self.folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{self.folder}/lists";
Dir::State::Status "{self.folder}/status";
Dir::Cache "{self.folder}/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
""", encoding="utf-8")

    def update(self):
        self._prepare()
        self.run("apt-get", "-q", "update")

    def run(self, program, *words, **keywords):
        """Its output; Unknown with what it said where it fails."""
        result = subprocess.run([program, "-c", self.folder / "apt.conf", *words], check=False, text=True,
                                capture_output=True, **keywords)
        if result.returncode:
            raise Unknown(f"{program} {' '.join(map(str, words))} failed for {self.release}:\n"
                          f"{result.stdout}{result.stderr}".rstrip())
        return result.stdout

    def unpack(self, packages, tree):
        """Their files below `tree`, which may be there already; nothing is installed.  Their versions by name."""
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as debs:
            self.run("apt-get", "-q", "download", *packages, cwd=debs)
            versions = {}
            for deb in pathlib.Path(debs).iterdir():
                subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
                name, version, _ = deb.stem.split("_")
                versions[name] = version.replace("%3a", ":")
        return versions

    def names(self, pattern):
        """Returns packages that match a regular expression, oldest version first."""
        names = self.run("apt-cache", "pkgnames").split()
        return sorted((name for name in names if re.fullmatch(pattern, name)), key=version_key)

    def has(self, package):
        """Whether it can be downloaded: a list also names packages that others only mention."""
        return bool(self.run("apt-cache", "madison", package).strip())

    def kernel(self, name, pattern):
        """The newest kernel of that pattern with headers and image: images are signed, and so offered, some days
        after their headers."""
        found = [package.removeprefix("linux-headers-") for package in self.names(f"linux-headers-{pattern}")]
        for release in reversed(found):
            if self.has(f"linux-headers-{release}") and self.has(f"linux-image-{release}"):
                return release
        raise Unknown(f"{self.release} offers no kernel {name} with headers and image: linux-headers-{pattern}")

    def depends(self, package):
        """The first of each dependency's alternatives."""
        shown = self.run("apt-cache", "show", "--no-all-versions", package)
        line = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
        return [part.split()[0] for part in line.group(1).split(",")] if line else []


def debug_source(folder):
    """Version and path of the archive that is there, or comes there now."""
    package = releases()[codename()]["debug"]
    known = folder / f"{package}.version"
    if not known.exists():
        apt = Apt(codename())
        apt.update()
        folder.mkdir(parents=True, exist_ok=True)
        version = apt.unpack([package], folder)[package]
        known.write_text(version + "\n", encoding="utf-8")
    return known.read_text(encoding="utf-8").strip(), folder / f"usr/src/{package}.tar.xz"


def main():
    tasks = {"sources": lambda name: Apt(name).sources(), "kernels": lambda name: kernels_of(Apt(name).release),
             "version": lambda name: [archives()[Apt(name).release]["version"]],
             "debug-source": lambda folder: debug_source(pathlib.Path(folder))}
    if len(sys.argv) != 3 or sys.argv[1] not in tasks:
        sys.exit(__doc__)
    print(*tasks[sys.argv[1]](sys.argv[2]), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except Unknown as error:
        sys.exit(f"debian: {error}")
