"""Tests of nodewise."""
