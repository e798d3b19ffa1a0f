/** What the address of the list of threads may say. */
export interface ThreadSearch {
  user_id?: string;
  q?: string;
  root?: string;
  agent_id?: string;
  status?: string;
}
