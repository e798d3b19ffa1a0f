import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "./client";
import type { components } from "./schema";

type S = components["schemas"];
export type Dataset = S["DatasetView"];
export type DatasetSummary = S["DatasetSummary"];
export type Case = S["EvalFixture"];
export type Expectation = S["EvalExpectation"];
export type Scorer = S["EvalScorer"];
export type EvalRun = NonNullable<S["EvalRunReply"]["run"]>;
export type EvalReply = S["EvalRunReply"];
export type EvalSummary = S["EvalRunSummary"];
export type Item = S["EvalItem"];
export type Report = NonNullable<Item["report"]>;
export type Change = S["EvalChange"];
export type Statistics = S["EvalStatistics"];
export type EvalFailure = S["EvalFailure"];

const page = 1000;

export const datasetsQuery = queryOptions({
  queryKey: ["datasets", "list"],
  queryFn: async ({ signal }) => {
    const out: DatasetSummary[] = [];
    for (;;) {
      const { datasets } = await ask(api.GET("/v1/eval/datasets", { params: { query: { offset: out.length, limit: page } }, signal }));
      out.push(...datasets);
      if (datasets.length < page) return out;
    }
  },
});

export const datasetQuery = (id: string) => queryOptions({ queryKey: ["datasets", "one", id], queryFn: ({ signal }) => ask(api.GET("/v1/eval/datasets/{id}", { params: { path: { id } }, signal })), enabled: id !== "" });

export const evalRunsQuery = (dataset?: string) =>
  queryOptions({ queryKey: ["evals", "list", dataset ?? ""], queryFn: async ({ signal }) => (await ask(api.GET("/v1/eval/runs", { params: { query: { dataset_id: dataset, limit: 1000 } }, signal }))).runs });

/** evalRunQuery reads a run over a dataset, compared with a baseline if one is named. */
export const evalRunQuery = (id: string, baseline?: string) =>
  queryOptions({ queryKey: ["evals", "one", id, baseline ?? ""], queryFn: ({ signal }) => ask(api.GET("/v1/eval/runs/{id}", { params: { path: { id }, query: { baseline: baseline || undefined, aggregate: "samples" } }, signal })) });

export const putDataset = (d: Dataset, spec: Dataset["spec"]) => ask(api.PUT("/v1/eval/datasets/{id}", { params: { path: { id: d.id } }, body: { expected_revision: d.meta.revision, spec } }));

/** The dataset of runs that have none: what several models were asked. */
export const adhoc = "_adhoc";
