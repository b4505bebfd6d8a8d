"""The command that opens labs in JupyterLab: ./numalab notebook."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.reporter import note
from numalab.commands.which_lab import named_lab, variant_option
from numalab.errors import NumalabError, UserError, reason_of
from numalab.file_systems.locks import has_record_locks
from numalab.files import write_json, write_whole
from numalab.grading.own_files import provide
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.labs.declaration import choose_labs
from numalab.labs.variants import is_variant_name, lab_of_variant
from numalab.learning.api import find_lab
from numalab.learning.cell_files import keep_copy
from numalab.learning.notebook_files import (
    given_notebook,
    labs_with_notebook,
    read_notebook,
    tidied,
    working_copy,
)
from numalab.learning.variant_notebook import variant_copy
from numalab.processes import shell_variables, starting

PORT = 8888
PORTS_TRIED = 50
END_LIMIT_S = 30.0  # on a busy node; kernels get five seconds of it by themselves


# PYTHONSAFEPATH: what cells start finds modules beside it, as anywhere.
_NOT_JUPYTERS = ("JUPYTER", "IPYTHON", "PYTHONSAFEPATH")


def jupyter_environment(
    installation: Installation, environment: Mapping[str, str]
) -> dict[str, str]:
    """Everything of Jupyter's, IPython's and matplotlib's goes into the build folder, and the
    kernel is the one beside this Python: nothing of the user's home is read or written."""
    folder = installation.build / "jupyter"
    own = {
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "IPYTHONDIR": folder / "ipython",
        "MPLCONFIGDIR": installation.build / "matplotlib",
    }
    kept = {k: v for k, v in environment.items() if not k.startswith(_NOT_JUPYTERS)}
    return kept | {key: str(path) for key, path in own.items()} | {
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "NUMALAB_PRESET": installation.preset,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }  # fmt: skip


def _prepare(environment: Mapping[str, str]) -> None:
    """Makes the folders, and turns off the question whether one wants news. Raises OSError."""
    for key, folder in environment.items():
        if key.startswith(("JUPYTER", "IPYTHON")) and key.endswith("DIR"):
            Path(folder).mkdir(parents=True, exist_ok=True)
    page = Path(environment["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
    page.parent.mkdir(exist_ok=True)
    write_json(page, {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}})
    # What is kept by SQLite, of cells that were run and notebooks that are trusted: in memory where
    # the file system has no locks, and it would be taken for damaged.
    kept_in_memory = (
        (Path(environment["JUPYTER_CONFIG_DIR"]) / "jupyter_server_config.json",
         {"NotebookNotary": {"db_file": ":memory:"}}),
        (Path(environment["IPYTHONDIR"]) / "profile_default" / "ipython_kernel_config.json",
         {"HistoryManager": {"hist_file": ":memory:"}}),
    )  # fmt: skip
    has_locks = has_record_locks(page)
    for path, config in kept_in_memory:
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True) if has_locks else write_json(path, config)


def jupyter_command(folder: Path, port: int, token: str) -> list[str]:
    """JupyterLab for this node's user only; it asks nobody for news or updates."""
    return [
        sys.executable, "-m", "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        "--ServerApp.open_browser=False",
        "--Application.log_level=40",
        "--KernelManager.transport_encryption=auto",
        "--MultiKernelManager.default_kernel_name=numalab",
        "--LabApp.extension_manager=readonly",
        # It runs npm, which writes to the home folder.
        "--ServerApp.jpserver_extensions=jupyter_lsp=False",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        *(["--ServerApp.allow_root=True"] if os.geteuid() == 0 else []),
    ]  # fmt: skip


def _free_port(wanted: int | None) -> int:
    """The wanted one, or the first free one from 8888 on. Raises UserError."""
    tried = [wanted] if wanted is not None else range(PORT, PORT + PORTS_TRIED)
    for port in tried:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    if wanted is not None:
        raise UserError(
            f"--port {wanted} is in use, or not yours to use; leave it out, and a free one is taken"
        )
    raise NumalabError(f"no port from {PORT} to {PORT + PORTS_TRIED - 1} is free")


def _wait_until_there(process: subprocess.Popen[bytes], port: int) -> None:
    """Raises NumalabError if the server ends before it answers."""
    while True:
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            with socket.socket() as probe:
                probe.settimeout(1.0)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            continue
        raise NumalabError(
            f"JupyterLab did not start (exit code {process.returncode}); its last words are above. "
            "./numalab setup fixes an incomplete installation."
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """The server ends its kernels when it is asked to."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _serve(installation: Installation, opened: Path | None, port: int, with_browser: bool) -> None:
    """Until Ctrl-C."""
    token = secrets.token_hex(16)
    # Links of notebooks lead to the labs' texts.
    own = installation.work_root
    root = own if installation.notebooks.is_relative_to(own) else installation.notebooks
    command = jupyter_command(root, port, token)
    environment = jupyter_environment(installation, shell_variables.numalab_environment())
    try:
        _prepare(environment)
    except OSError as error:
        raise NumalabError(f"JupyterLab's files can't be written: {reason_of(error)}") from error
    first = installation.notebooks if opened is None else opened
    place = "" if first == root else f"/tree/{first.relative_to(root)}"
    url = f"http://127.0.0.1:{port}/lab{place}?token={token}"
    click.echo("Starting JupyterLab ...", err=True)
    # A group of its own: Ctrl-C reaches this process, which then ends the server.
    process = starting.start(command, environment, cwd=installation.notebooks, process_group=0)
    try:
        _wait_until_there(process, port)
        click.echo(f"JupyterLab is at\n\n  {url}\n\nCtrl-C here ends it.")
        if with_browser:
            click.launch(url)
        code = process.wait()
        if code:
            raise NumalabError(f"JupyterLab ended with exit code {code}; its last words are above")
    except KeyboardInterrupt:
        click.echo("\nEnding JupyterLab; saved notebooks stay in notebooks/.", err=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        _end(process)


@click.command(short_help="Open a lab's notebook in JupyterLab.")
@click.argument("name", metavar="[LAB]", required=False, shell_complete=complete_lab)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option("--port", type=click.IntRange(1, 65535), help="Left out: a free one from 8888 on.")
@click.option(
    "--publish",
    is_flag=True,
    help="For authors: put your copy into labs/, without outputs, and open nothing. What was there "
    "is kept beside your copy.",
)
@variant_option("Of your variant of the lab.")
@click.pass_obj
def notebook(
    installation: Installation,
    name: str | None,
    no_browser: bool,
    port: int | None,
    publish: bool,
    is_variant: bool,
) -> None:
    """Open a lab's notebook in JupyterLab, with the kit's own Python. Ctrl-C ends it.

    You work on a copy, notebooks/NN_name/explore.ipynb, which is made when you first open it
    and never overwritten; remove it to begin anew. What its cells hold lies beside it:
    ./numalab grade 01 --submission notebooks grades it.

    On another computer, such as a cluster's node, take --no-browser, and on your own

    \b
      ssh -L 8888:127.0.0.1:8888 NODE

    then open the address that is printed.

    \b
    Examples:
      ./numalab notebook 01
      ./numalab notebook 01 --variant        your variant of it
      ./numalab notebook 04 --no-browser --port 9000
      ./numalab notebook                     all of them, in JupyterLab's list
    """
    labs = load_labs(installation.root)
    if is_variant and (publish or not name):
        raise UserError("--variant wants the lab, such as 01 --variant, and goes without --publish")
    if name and is_variant_name(name):
        name, is_variant = lab_of_variant(name), True
    chosen = (
        [lab.name for lab in choose_labs(labs, [name])]
        if name
        else labs_with_notebook(installation, labs)
    )
    if publish:
        if installation.work is not None:
            raise UserError(
                f"--publish writes into labs/ of the kit, and {installation.root} is shared by "
                "many. Do it "
                "in a checkout of your own."
            )
        _publish(installation, chosen if name else [])
        return
    if importlib.util.find_spec("jupyterlab") is None:
        raise NumalabError("JupyterLab is missing; run ./numalab notebook, which installs it")
    installation.make_folders()
    if name and is_variant:
        copies = [variant_copy(*named_lab(installation, name, True))]
    else:
        provide(installation, [labs[lab] for lab in chosen], note)
        copies = [working_copy(installation, lab) for lab in chosen]
    for path, is_new in copies:
        shown = installation.shown(path)
        if name:
            click.echo(f"Your copy: {shown}" + (" (new)" if is_new else " (as you left it)"))
    _serve(installation, copies[0][0] if name else None, _free_port(port), not no_browser)


def _publish(installation: Installation, names: Sequence[str]) -> None:
    if not names:
        raise UserError("--publish wants the lab, such as ./numalab notebook 01 --publish")
    for lab in names:
        path, _ = working_copy(installation, lab)
        text = tidied(read_notebook(path), find_lab(lab, installation).handout)
        given = given_notebook(installation, lab)
        old = given.read_bytes()
        if old != text.encode():  # who edited it there, or pulled, has it nowhere else
            kept = keep_copy(path, old)
            click.echo(f"What was in it is kept in {installation.shown(kept)}")
        write_whole(given, text)
        click.echo(f"{installation.shown(given)}: written from your copy, without outputs")
