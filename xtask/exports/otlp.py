"""Reads an export by the messages of OpenTelemetry, and compares it with its record's trials."""

import sys

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

with open(sys.argv[1], encoding="utf-8") as file:
    request = Parse(file.read(), ExportMetricsServiceRequest())
metrics = {
    metric.name: metric
    for resource in request.resource_metrics
    for scope in resource.scope_metrics
    for metric in scope.metrics
}
wall = metrics["hugewise.wall_seconds"]
assert wall.unit == "s", wall.unit
policies = [
    attribute.value.string_value
    for point in wall.gauge.data_points
    for attribute in point.attributes
    if attribute.key == "hugewise.policy"
]
counts = {policy: policies.count(policy) for policy in policies}
assert set(counts.values()) == {12} and len(counts) == 2, counts
print(f"ok otlp: {len(metrics)} metrics, {len(wall.gauge.data_points)} points of wall time")
