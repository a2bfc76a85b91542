"""Traces of plans in the form of OpenTelemetry. Read `recorder` first: it has the spans of `spans` exported."""
