"""./numalab completion: a script with which a shell completes this program's command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

PROGRAM = "numalab"
# A shell asks for completions by starting the program with this variable set; the launcher
# knows it too, and then sets nothing up.
VARIABLE = "_NUMALAB_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Let your shell complete commands, labs and machines.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes the Tab key complete ./numalab: commands, options, labs,
    topics of hints, and machines.

    \b
    Examples, for this shell only, in the kit's folder:
      eval "$(./numalab completion bash)"       bash, 4.4 or newer
      eval "$(./numalab completion zsh)"        zsh
      ./numalab completion fish | source        fish

    For every shell put the line into ~/.bashrc, ~/.zshrc (after compinit) or
    ~/.config/fish/config.fish, with the whole path of numalab.
    """
    found = get_completion_class(shell)
    assert found is not None, shell
    click.echo(found(context.find_root().command, {}, PROGRAM, VARIABLE).source())
