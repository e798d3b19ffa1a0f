import type { UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useLanguage, type Key } from "../i18n/i18n";
import { Check, Choice, Filter, Filters } from "./filter";
import { usePhone } from "./phone";
import { TimeChoice, type Times } from "./recent";
import { Rows } from "./rows";
import { Empty, Loaded } from "./state";
import { Ago } from "./time";

/** A filter of a list: a choice if it has options, a box if it is only on or off, and else a text. */
export interface By<S> {
  name: keyof S & string;
  word: Key;
  options?: { value: string; text: string }[];
  box?: boolean;
  /** Few people need it: it is behind a button. */
  rare?: boolean;
}

interface FilterProps<S> {
  /** The address of the list. */
  to: string;
  search: S;
  /** What the field says that finds items that contain a text. */
  find?: Key;
  /** The filters in their order. The one for times has a place among them, too. */
  by: (By<S> | "times")[];
  /** What the address says besides filters. */
  besides?: (keyof S)[];
  end?: ReactNode;
}

/** chosen returns how many filters an address has. */
export const chosen = <S extends object>(search: S, besides: (keyof S)[] = []) => Object.keys(search).filter((k) => !besides.includes(k as keyof S)).length;

/** ListFilters is the bar with the filters of a list, which its address has. */
export function ListFilters<S extends object>({ to, search, find, by, besides = [], end }: FilterProps<S>) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const set = (change: object) => void navigate({ to, search: ((s: object) => ({ ...s, ...change })) as never, replace: true });
  const values = search as Record<string, string | undefined>;
  const one = (f: By<S> | "times") => {
    if (f === "times") return <TimeChoice key={f} times={search as Times} set={set} />;
    const same = { label: t(f.word), value: values[f.name] ?? "", onChange: (v: string) => set({ [f.name]: v || undefined }) };
    if (f.box) return <Check key={f.name} label={same.label} checked={same.value !== ""} onChange={(on) => same.onChange(on ? "true" : "")} />;
    return f.options ? <Choice key={f.name} {...same} options={f.options} /> : <Filter key={f.name} {...same} />;
  };
  const rare = by.filter((f) => f !== "times" && f.rare);
  return (
    <Filters
      find={find && <Filter value={values.q ?? ""} onChange={(v) => set({ q: v || undefined })} label={t(find)} />}
      active={chosen(search, ["q" as keyof S, ...besides])}
      activeMore={rare.filter((f) => f !== "times" && values[f.name]).length}
      clear={() => void navigate({ to, search: {}, replace: true })}
      more={rare.length > 0 ? rare.map(one) : undefined}
      end={end}
    >
      {by.filter((f) => !rare.includes(f)).map(one)}
    </Filters>
  );
}

/** A column of a list. */
export interface Column<T> {
  /** What its head says. A list whose columns say nothing has no head. */
  word?: Key;
  /** How wide it is, as a track of a grid. */
  width: string;
  cell: (item: T) => ReactNode;
  right?: boolean;
  look?: string;
}

interface ListProps<T> {
  query: UseQueryResult<unknown> | UseInfiniteQueryResult<unknown>;
  items: T[];
  keyOf: (item: T) => string;
  label: string;
  columns: Column<T>[];
  /** An item on a phone. */
  card: (item: T) => ReactNode;
  /** How high a row is, and a card. */
  heights: [number, number];
  open: (item: T) => void;
  /** Whether items are left out: then an empty list says so. */
  filtered: boolean;
  empty: { title: Key; icon?: LucideIcon; hint: ReactNode };
  /** What is before each item, such as a box that chooses it. */
  before?: (item: T) => ReactNode;
  pick?: (item: T) => void;
}

/** List shows the items of a query, in columns or on a phone as cards, and asks for more of them when the end comes near. */
export function List<T>({ query, items, columns, card, heights, filtered, empty, before, ...rest }: ListProps<T>) {
  const { t } = useLanguage();
  const phone = usePhone();
  const tracks = { gridTemplateColumns: columns.map((c) => c.width).join(" ") };
  const row = (item: T) =>
    phone ? (
      card(item)
    ) : (
      <div className="grid h-full items-center gap-3 px-4" style={tracks}>
        {columns.map((c, i) => (
          <span key={i} className={`min-w-0 ${c.right ? "text-right" : ""} ${c.look ?? "truncate"}`}>
            {c.cell(item)}
          </span>
        ))}
      </div>
    );
  const pages = "hasNextPage" in query ? query : undefined;
  return (
    <Loaded query={query as UseQueryResult<unknown>} rows={12}>
      {() =>
        items.length === 0 ? (
          <Empty title={t(filtered ? "runs.noMatch" : empty.title)} icon={empty.icon}>
            {filtered ? t("runs.noMatchHint") : empty.hint}
          </Empty>
        ) : (
          <>
            {!phone && columns.some((c) => c.word) && (
              <div aria-hidden className={`grid gap-3 border-b border-line px-4 py-1 text-caption text-muted ${before ? "ml-10" : ""}`} style={tracks}>
                {columns.map((c, i) => (
                  <span key={i} className={c.right ? "text-right" : ""}>
                    {c.word && t(c.word)}
                  </span>
                ))}
              </div>
            )}
            <Rows
              {...rest}
              items={items}
              height={heights[phone ? 1 : 0]}
              row={
                before
                  ? (item) => (
                      <div className="flex h-full">
                        {before(item)}
                        <div className="min-w-0 flex-1">{row(item)}</div>
                      </div>
                    )
                  : row
              }
              more={pages?.hasNextPage && !pages.isFetching ? () => void pages.fetchNextPage() : undefined}
              foot={pages?.isFetchingNextPage ? <p className="p-3 text-center text-muted">{t("state.loading")}</p> : null}
            />
          </>
        )
      }
    </Loaded>
  );
}

interface ShortProps<T> extends Omit<ListProps<T>, "items" | "filtered" | "open" | "query" | "keyOf"> {
  query: UseQueryResult<T[]>;
  /** The address of the list. Those of its items are below it. */
  to: string;
  /** What an item is found by. */
  textOf: (item: T) => string;
}

/** ShortList is a list whose items are all there. If they are many, those that contain a text can be found. */
export function ShortList<T extends { id: string }>({ query, to, textOf, ...rest }: ShortProps<T>) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const all = query.data ?? [];
  const items = all.filter((x) => textOf(x).toLowerCase().includes(q.toLowerCase()));
  return (
    <>
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to, search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <List {...rest} query={query} items={items} keyOf={(x) => x.id} filtered={all.length > 0} open={(x) => void navigate({ to: `${to}/$id`, params: { id: x.id } as never })} />
    </>
  );
}

/** Card is an item of a list on a phone: what it is and how old, and below what else there is to say. */
export function Card({ at, children, below }: { at?: number | string; children: ReactNode; below: ReactNode }) {
  return (
    <div className="flex h-full flex-col justify-center gap-1 px-4">
      <div className="flex items-center gap-2">
        {children}
        <span className="ml-auto text-muted">
          <Ago at={at} />
        </span>
      </div>
      <div className="flex items-center gap-2 text-muted">{below}</div>
    </div>
  );
}
