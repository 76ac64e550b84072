"""What services export about themselves: OpenTelemetry's spans and metrics, Prometheus."""
