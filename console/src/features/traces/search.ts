import type { Times } from "../../ui/recent";

/** What the address of the list of traces may say: the filters of GET /v1/traces. */
export interface TraceSearch extends Times {
  agent_id?: string;
  status?: string;
  outcome?: string;
  waiting_reason?: string;
  tool?: string;
  version?: string;
  user_id?: string;
  thread_id?: string;
  origin?: string;
  in_doubt?: string;
  error_code?: string;
  min_cost_usd?: string;
  min_duration_ms?: string;
  max_score?: string;
  pinned?: string;
  q?: string;
}

/** What the address of a trace may say. */
export interface TraceAt {
  /** The line that is open. */
  at?: string;
  /** The evaluation of which it is a cell. */
  eval?: string;
}
