import { Autocomplete } from "@base-ui/react/autocomplete";
import { useNavigate } from "@tanstack/react-router";
import { CornerDownLeft, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { api } from "../api/client";
import { useLanguage } from "../i18n/i18n";
import { Overlay } from "../ui/overlay";
import { places } from "./nav";

interface Item {
  id: string;
  label: string;
  hint: string;
  run: () => void;
}

const looksLikeID = /^[\w.:-]{6,}$/;

/** Palette goes to pages, and to runs and threads by their id. */
export function Palette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const close = () => {
    onOpenChange(false);
    setText("");
  };
  const items = useMemo<Item[]>(() => {
    const q = text.trim();
    const list: Item[] = places.filter((p) => t(p.word).toLowerCase().includes(q.toLowerCase())).map((p) => ({ id: p.to, label: t(p.word), hint: p.key ? `g ${p.key}` : "", run: () => void navigate({ to: p.to }) }));
    if (looksLikeID.test(q)) {
      const go = async () => {
        const run = await api.GET("/v1/runs/{run_id}", { params: { path: { run_id: q } } }).catch(() => null);
        if (run) await navigate({ to: "/runs/$id", params: { id: q } });
        else await navigate({ to: "/threads/$id", params: { id: q } });
      };
      list.push({ id: "go", label: t("palette.open", { id: q }), hint: "", run: () => void go() });
    }
    if (q) list.push({ id: "search", label: t("palette.searchRuns", { q }), hint: "", run: () => void navigate({ to: "/runs", search: { q } }) });
    return list;
  }, [text, t, navigate]);
  return (
    <Overlay open={open} onOpenChange={(o) => (o ? onOpenChange(true) : close())} title={t("palette.title")}>
      <Autocomplete.Root open inline items={items} value={text} onValueChange={setText} itemToStringValue={(i: Item) => i.label} filter={null} autoHighlight="always">
        <div className="flex items-center gap-2 border-b border-line px-3">
          <Search aria-hidden className="size-4 text-muted" />
          <Autocomplete.Input aria-label={t("palette.title")} placeholder={t("palette.placeholder")} className="h-11 min-w-0 flex-1 bg-transparent text-form outline-none" />
        </div>
        <Autocomplete.List className="p-1">
          {(item: Item) => (
            <Autocomplete.Item
              key={item.id}
              value={item}
              onClick={() => {
                item.run();
                close();
              }}
              className="touch flex min-h-8 cursor-default items-center gap-2 rounded-md px-2 data-highlighted:bg-sunken"
            >
              <span className="min-w-0 flex-1 truncate">{item.label}</span>
              {item.hint ? <kbd className="mono text-muted">{item.hint}</kbd> : <CornerDownLeft aria-hidden className="size-3.5 text-muted" />}
            </Autocomplete.Item>
          )}
        </Autocomplete.List>
      </Autocomplete.Root>
    </Overlay>
  );
}
