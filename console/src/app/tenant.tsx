import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, setTenant, tenantOf } from "../api/client";
import { sessionQuery, useGoverns } from "../api/session";
import { useLanguage } from "../i18n/i18n";

/** TenantSwitch shows an administrator of the server the pages of one of its tenants. What is done there is in the audit log. */
export function TenantSwitch() {
  const { t } = useLanguage();
  const governs = useGoverns();
  const client = useQueryClient();
  const tenants = useQuery({ queryKey: ["tenants"], queryFn: ({ signal }) => ask(api.GET("/v1/tenants", { signal })), enabled: governs || tenantOf() !== "", staleTime: 5 * 60_000, retry: false });
  const names = [...new Set([...(tenants.data?.items.map((x) => x.tenant) ?? []), tenantOf()])].filter(Boolean).sort();
  if (names.length === 0) return null;
  const change = async (name: string) => {
    setTenant(name);
    client.removeQueries({ predicate: (q) => q.queryKey[0] !== "session" && q.queryKey[0] !== "tenants" });
    await client.refetchQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <select className="field max-w-36 max-sm:hidden" aria-label={t("shell.tenantSwitch")} value={tenantOf()} onChange={(e) => void change(e.target.value)}>
      <option value="">{t("shell.ownTenant")}</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
