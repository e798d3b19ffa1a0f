// CopilotKit's own renderer of A2UI, instead of the one in ../../starter/genui.tsx. It draws the messages of v0.9.
import { a2uiDefaultTheme, createA2UIMessageRenderer, useAgent } from "@copilotkit/react-core/v2";
import { useMemo } from "react";

const { render: Surfaces } = createA2UIMessageRenderer({ theme: a2uiDefaultTheme });

type Operation = Record<string, any>;

/** The messages of a call of render_a2ui; none while its arguments are incomplete. */
function messagesOf(args: string): Operation[] {
  try {
    const input = JSON.parse(args);
    return input.messages ?? [input];
  } catch {
    return [];
  }
}

/** The surface that a message is about. */
const surfaceOf = (op: Operation): string | undefined => Object.values(op).find((v) => v && typeof v === "object")?.surfaceId;

/** The basic catalogue has moved, and CopilotKit 1.74 knows its former address. */
const known = (op: Operation): Operation =>
  op.createSurface?.catalogId?.endsWith("/v0_9/catalogs/basic/catalog.json") ? { ...op, createSurface: { ...op.createSurface, catalogId: "https://a2ui.org/specification/v0_9/basic_catalog.json" } } : op;

/** Draws the surfaces that a call creates, with what later calls have said about them. */
export function CopilotA2UI({ agentId, call }: { agentId: string; call: string }) {
  const { agent } = useAgent({ agentId });
  const calls: any[] = agent.messages.flatMap((m: any) => m.toolCalls ?? []).filter((c: any) => c.function.name === "render_a2ui");
  const all = calls.map((c) => ({ id: c.id, messages: messagesOf(c.function.arguments) }));
  const own = new Set(all.filter((c) => c.id === call).flatMap((c) => c.messages).filter((op) => op.createSurface).map(surfaceOf));
  const told = JSON.stringify(all.flatMap((c) => c.messages).filter((op) => own.has(surfaceOf(op))).map(known));
  const content = useMemo(() => ({ a2ui_operations: JSON.parse(told) }), [told]);
  return own.size > 0 ? <Surfaces activityType="a2ui-surface" content={content} message={{ id: call, role: "activity", activityType: "a2ui-surface", content }} agent={agent} /> : null;
}
