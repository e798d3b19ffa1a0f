// Every page, in each theme, language and size: no violation that axe finds, no error, nothing that the policy refuses.
import { run, sleep, stage } from "./rig.mjs";

const pages = {};
const { server, looks } = stage(undefined, {
  anonymous: true,
  async prepare() {
    const done = await run(server.url, "default", "Where should I go?");
    await run(server.url, "scenario", "RUN_WEATHER_TOOL", { thread_id: done.thread_id });
    const waiting = await run(server.url, "permission", 'RUN_TOOL append_note {"text":"buy milk"}');
    const asked = await run(server.url, "scenario", "scenario:approval");
    const ticket = asked.waiting.ticket_ids[0];
    const decided = await run(server.url, "scenario", "scenario:approval");
    await sleep(2500); // a person thinks
    await fetch(`${server.url}/v1/approvals/${decided.run_id}/${decided.waiting.ticket_ids[0]}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"action":"resume","reason":"it is old"}' });
    Object.assign(pages, {
      decided: `/runs/${decided.run_id}/calls/${decided.waiting.tickets[0].tool_call_id}`,
      overview: "/",
      approvals: "/approvals",
      approval: `/approvals/${asked.run_id}/${ticket}`,
      remember: `/approvals/${waiting.run_id}/${waiting.waiting.ticket_ids[0]}`,
      runs: "/runs",
      none: "/runs?agent_id=nothing",
      run: `/runs/${asked.run_id}`,
      step: `/runs/${done.run_id}/steps/0`,
      call: `/runs/${asked.run_id}/calls/${asked.waiting.tickets[0].tool_call_id}`,
      events: `/runs/${done.run_id}?tab=events`,
      tree: `/runs/${done.run_id}?tab=tree`,
      raw: `/runs/${done.run_id}?tab=raw`,
      threads: "/threads",
      thread: `/threads/${done.thread_id}`,
      waitingThread: `/threads/${asked.thread_id}`,
      newThread: "/threads/-/new",
      signIn: "/sign-in",
      unknown: "/keys/none",
    });
  },
});

looks("pages", pages, { few: ["light"] });
