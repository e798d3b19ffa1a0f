import type { Times } from "../../ui/recent";

/** What the address of the list of judgements may say: the filters of GET /v1/eval/live. */
export interface LiveSearch extends Times {
  agent_id?: string;
  version?: string;
  status?: string;
  min_score?: string;
  max_score?: string;
  /** The run whose judgement is open. */
  run?: string;
}

/** What the address of the result of an evaluation may say. */
export interface EvalSearch {
  /** The run that it is compared with. */
  baseline?: string;
  /** Which cases are shown. */
  show?: string;
  /** The cell that is open. */
  cell?: string;
  q?: string;
}
