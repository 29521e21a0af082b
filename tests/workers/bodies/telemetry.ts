import {context, propagation, trace} from '@opentelemetry/api';
import {AsyncLocalStorageContextManager} from '@opentelemetry/context-async-hooks';
import {CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator} from '@opentelemetry/core';

// As an instrumentation file does, in the main thread and, by `--import`, in every other.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new CompositePropagator({propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]}));

/** What OpenTelemetry knows of where it is called. */
export function where(): object {
  const {traceId, spanId} = trace.getSpanContext(context.active()) ?? {};
  return {traceId, spanId, user: propagation.getActiveBaggage()?.getEntry('user')?.value};
}
