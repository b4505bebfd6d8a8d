"""Verdicts and evidence shown: tables and pictures for the terminal, figures, pages."""
