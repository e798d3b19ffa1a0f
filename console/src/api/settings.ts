import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./client";

/** settingsQuery reads the settings of the server, with where they come from. Those may who administer the whole server. */
export const settingsQuery = queryOptions({ queryKey: ["system", "settings"], queryFn: ({ signal }) => ask(api.GET("/v1/system/settings", { signal })) });
