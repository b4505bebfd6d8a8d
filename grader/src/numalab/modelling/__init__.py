"""What a placement would cost on another machine: modelled by that machine's published rates,
never timed, never graded."""
