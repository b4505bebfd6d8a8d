"""Student copies: numalab with solutions as objects and compressed texts, so that verdicts are the
same and solutions can't be read by browsing. Also packs of variants for them, and the archive of a
release.

Imported by `commands` alone: edition, variant.
"""
