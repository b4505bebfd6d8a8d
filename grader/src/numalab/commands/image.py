"""./numalab image."""

from __future__ import annotations

import re
from pathlib import Path

import click

from numalab.commands.reporter import note
from numalab.commands.shared import check_json_target, shown_path
from numalab.errors import UserError, wrapped
from numalab.installation import Installation
from numalab.words import amount, count

SUITE = "bookworm"
_SUITE = re.compile(r"[a-z][a-z0-9.-]*")
_COMPONENTS = re.compile(r"[a-z-]+(,[a-z-]+)*")
_MIRROR = re.compile(r"(https?|file|copy)://?[\w./:~@%+-]+")


@click.command(short_help="Make a container image of the kit, from packages.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--suite", default=SUITE, show_default=True, help="Of Debian, or of Ubuntu.")
@click.option("--mirror", metavar="URL", help="Where its packages are fetched from.")
@click.option("--components", default="main", show_default=True, help="Of these packages.")
@click.option("--without-virtual-nodes", is_flag=True, help="No QEMU, and no kernel for it.")
@click.option("--afresh", is_flag=True, help="Fetch packages anew, though some are kept.")
@click.pass_obj
def image(
    installation: Installation,
    file: Path,
    suite: str,
    mirror: str | None,
    components: str,
    without_virtual_nodes: bool,
    afresh: bool,
) -> None:
    """Make a container image in which students work: the system's packages that set-up asks for,
    the kit as it is committed, set up, with JupyterLab and solutions, and the user student. It
    needs a network while it is made, and none when it is used.

    FILE becomes an archive that docker load, podman load and skopeo read. buildah keeps the
    packages, so that the next image takes less time; --afresh has today's instead.

    It is made by mmdebstrap and buildah (packages of Debian and Ubuntu), as root, or as a user who
    may have user namespaces. With Docker and its registry there is another way to the same:
    docker build -f .devcontainer/Containerfile -t numalab .

    \b
    Examples:
      ./numalab image numalab.tar
      docker load -i numalab.tar
      docker run -it --rm -v work:/home/student numalab:0.2.0
      ./numalab image small.tar --without-virtual-nodes
      ./numalab image new.tar --suite trixie --afresh
      ./numalab image ubuntu.tar --suite noble --components main,universe \\
                                 --mirror http://archive.ubuntu.com/ubuntu
    """
    installation.need_solutions("./numalab image")
    if not _SUITE.fullmatch(suite):
        raise UserError(f"--suite {suite}: that is no suite's name, such as {SUITE} or trixie")
    if mirror is not None and not _MIRROR.fullmatch(mirror):
        raise UserError(
            f"--mirror {mirror}: that is no address, such as http://deb.debian.org/debian"
        )
    if not _COMPONENTS.fullmatch(components):
        raise UserError(f"--components {components}: name them as in main,universe")
    from numalab.installing.image import Distribution, examine, make_image

    target = file.absolute()
    check_json_target(target, "FILE")
    checkout = examine(installation.root)
    if checkout.changed:
        note(
            f"{count(len(checkout.changed), 'file')} changed since the last commit; the image has "
            "what is committed."
        )
    distribution = Distribution(suite, mirror, not without_virtual_nodes, components)
    kept = make_image(checkout, distribution, target, afresh)
    click.echo(f"{shown_path(target)}: {amount(target.stat().st_size)}")
    if kept is not None:
        click.echo(wrapped(f"Its packages were fetched on {kept}; --afresh fetches today's."))
    click.echo("Next: docker load -i FILE, or podman load -i FILE; then as --help says.")
