import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { present, removalPreview, type Namespace } from "../api/config";
import { useLanguage } from "../i18n/i18n";
import { Loaded } from "./state";

const pages: Record<string, string> = { agents: "/agents", providers: "/providers", models: "/models", "model-pools": "/pools", "mcp-servers": "/mcp-servers", "a2a-servers": "/a2a-servers", skills: "/skills", tools: "/tools" };

const pathOf = (namespace: string, id: string): string => `${pages[namespace] ?? ""}/${encodeURIComponent(id)}`;

/** UsedBy lists the documents that a document concerns: those that name it, and those that it reaches without being named. */
export function UsedBy({ ns, id }: { ns: Namespace; id: string }) {
  const { t } = useLanguage();
  const query = useQuery({ queryKey: ["config", ns, "usedBy", id], queryFn: () => removalPreview(ns, id), enabled: present(ns, id), retry: false });
  return (
    <section aria-label={t("usedBy.title")} className="panel overflow-hidden">
      <h2 className="border-b border-line px-4 py-2 font-semibold">{t("usedBy.title")}</h2>
      <Loaded query={query} rows={2}>
        {(p) => {
          const users = [...new Map([...p.used_by, ...p.affected].map((u) => [`${u.namespace}/${u.id}`, u])).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
          if (users.length === 0) return <p className="px-4 py-3 text-muted">{t("usedBy.none")}</p>;
          return (
            <ul aria-label={t("usedBy.title")} tabIndex={0} className="mono flex max-h-48 flex-wrap gap-1.5 overflow-auto p-4">
              {users.map(([key, u]) => (
                <li key={key}>
                  <Link to={pathOf(u.namespace, u.id)} className="inline-flex min-h-6 items-center rounded-sm bg-sunken px-2 hover:underline">
                    {u.namespace === "agents" ? u.id : key}
                  </Link>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}
