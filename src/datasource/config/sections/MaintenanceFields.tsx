import React from 'react';

import { type InsightSettings } from '../../types';
import { patternProblem, timeProblem } from '../checks/words';
import { Fields, Folded, Row } from '../form/Folded';
import { ItemList } from '../form/ItemList';
import { TextSetting } from '../form/TextSetting';

type Maintenance = NonNullable<InsightSettings['maintenance']>[number];

const TWO_HOURS_MS = 2 * 60 * 60 * 1000;

/** Times in which nobody is to be bothered with some GPUs. */
export function MaintenanceFields() {
  return (
    <Folded
      title="Maintenance"
      description="GPUs that nobody is to be bothered with for a time. What is left out fits all. Alertmanager’s silences do the same."
    >
      <ItemList<Maintenance>
        path="insight.maintenance"
        noun="maintenance"
        nameOf={({ cluster, node, gpu }, index) => [cluster, node, gpu].filter(Boolean).join(' ') || String(index + 1)}
        create={() => ({ from: moment(0), until: moment(TWO_HOURS_MS) })}
      >
        {(item, path) => <Window item={item} path={path} />}
      </ItemList>
    </Folded>
  );
}

function Window({ item, path }: { item: Maintenance; path: string }) {
  return (
    <Fields>
      <Row>
        <TextSetting
          path={`${path}.cluster`}
          label="Cluster"
          placeholder="Any"
          width={20}
          required={isOfEverything(item)}
          check={(text) =>
            text === '' && isOfEverything(item) ? 'Write a cluster, a node or a GPU: it is of everything.' : undefined
          }
        />
        <TextSetting
          path={`${path}.node`}
          label="Node"
          placeholder="Any, or /gpu-.*/"
          width={24}
          check={patternProblem}
        />
        <TextSetting path={`${path}.gpu`} label="GPU" placeholder="All, or a UUID" width={44} />
      </Row>
      <Row>
        <TextSetting path={`${path}.from`} label="From" width={28} required check={timeProblem} />
        <TextSetting
          path={`${path}.until`}
          label="Until"
          width={28}
          required
          check={(text) => timeProblem(text) ?? orderProblem(item.from, text)}
        />
        <TextSetting path={`${path}.by`} label="By" placeholder="Who works on it" width={20} />
        <TextSetting path={`${path}.why`} label="Why" width={30} />
      </Row>
    </Fields>
  );
}

function isOfEverything({ cluster, node, gpu }: Maintenance): boolean {
  return ![cluster, node, gpu].some((text) => text?.trim());
}

function orderProblem(from = '', until: string): string | undefined {
  return Date.parse(until) <= Date.parse(from) ? 'Write a time after From.' : undefined;
}

/** A time from now, to the second. */
function moment(afterMs: number): string {
  return new Date(Date.now() + afterMs).toISOString().replace(/\.\d+Z$/, 'Z');
}
