/** What the address of the list of runs may say: the filters of GET /v1/runs. */
export interface RunSearch {
  status?: string;
  outcome?: string;
  waiting_reason?: string;
  agent_id?: string;
  user_id?: string;
  thread_id?: string;
  tool?: string;
  origin?: string;
  version?: string;
  in_doubt?: string;
  since?: string;
  until?: string;
  min_cost_usd?: string;
  q?: string;
}
