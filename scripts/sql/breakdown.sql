-- SPDX-License-Identifier: Apache-2.0
--
-- breakdown.sql - where the wall time of each step went, as the overview of trainprof-merge
--
-- tables: spans, kernels, processes, step_breakdown
-- At each moment of a step one category counts: the first of the list that is active on any thread or
-- stream of its process. From the begins and ends of all spans and device work; of step_breakdown only the
-- begins and lengths of the steps are taken (a step lasts until the work that it asked for has ended).
WITH
steps AS (
	SELECT process_at, processes.process, step, begin_ns, begin_ns + time_ns AS end_ns
	FROM step_breakdown JOIN processes USING (process)
),
part AS (
	SELECT process_at, category, begin_ns, begin_ns + dur_ns AS end_ns FROM spans WHERE category IS NOT NULL
	UNION ALL
	SELECT process_at, category, begin_ns, begin_ns + dur_ns FROM kernels
),
edge AS (
	SELECT process_at, begin_ns AS at_ns, category, 1 AS n FROM part
	UNION ALL
	SELECT process_at, end_ns, category, -1 FROM part
	UNION ALL
	SELECT process_at, begin_ns, NULL, 0 FROM steps
	UNION ALL
	SELECT process_at, end_ns, NULL, 0 FROM steps
),
moment AS (
	SELECT
		process_at, at_ns,
		coalesce(sum(n) FILTER (category = 'Kernel'), 0) AS kernel,
		coalesce(sum(n) FILTER (category = 'Memcpy'), 0) AS memcpy,
		coalesce(sum(n) FILTER (category = 'Memset'), 0) AS memset,
		coalesce(sum(n) FILTER (category = 'Communication'), 0) AS communication,
		coalesce(sum(n) FILTER (category = 'Runtime'), 0) AS runtime,
		coalesce(sum(n) FILTER (category = 'DataLoader'), 0) AS data,
		coalesce(sum(n) FILTER (category = 'CPU Exec'), 0) AS cpu
	FROM edge
	GROUP BY process_at, at_ns
),
stretch AS (
	SELECT
		process_at, at_ns, lead(at_ns) OVER along AS to_ns,
		CASE
			WHEN sum(kernel) OVER along > 0 THEN 'Kernel'
			WHEN sum(memcpy) OVER along > 0 THEN 'Memcpy'
			WHEN sum(memset) OVER along > 0 THEN 'Memset'
			WHEN sum(communication) OVER along > 0 THEN 'Communication'
			WHEN sum(runtime) OVER along > 0 THEN 'Runtime'
			WHEN sum(data) OVER along > 0 THEN 'DataLoader'
			WHEN sum(cpu) OVER along > 0 THEN 'CPU Exec'
			ELSE 'Other'
		END AS category
	FROM moment
	WINDOW along AS (PARTITION BY process_at ORDER BY at_ns)
),
counted AS (
	SELECT steps.process, steps.process_at, steps.step, steps.begin_ns, stretch.category,
		stretch.to_ns - stretch.at_ns AS ns
	FROM stretch ASOF JOIN steps
		ON stretch.process_at = steps.process_at AND stretch.at_ns >= steps.begin_ns
	WHERE stretch.at_ns < steps.end_ns
)
SELECT
	process, step,
	sum(ns) AS time_ns,
	coalesce(sum(ns) FILTER (category = 'Kernel'), 0) AS kernel_ns,
	coalesce(sum(ns) FILTER (category = 'Memcpy'), 0) AS memcpy_ns,
	coalesce(sum(ns) FILTER (category = 'Memset'), 0) AS memset_ns,
	coalesce(sum(ns) FILTER (category = 'Communication'), 0) AS communication_ns,
	coalesce(sum(ns) FILTER (category = 'Runtime'), 0) AS runtime_ns,
	coalesce(sum(ns) FILTER (category = 'DataLoader'), 0) AS data_ns,
	coalesce(sum(ns) FILTER (category = 'CPU Exec'), 0) AS cpu_ns,
	coalesce(sum(ns) FILTER (category = 'Other'), 0) AS other_ns
FROM counted
GROUP BY process, process_at, step, begin_ns
ORDER BY process_at, begin_ns
