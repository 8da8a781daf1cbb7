import { Field, RadioButtonGroup } from '@grafana/ui';
import React from 'react';

import { labelProblem } from '../checks/words';
import { Fields, Folded, Row } from '../form/Folded';
import { useSetting } from '../form/Form';
import { LinesSetting } from '../form/LinesSetting';

const PLACES: Array<[key: string, label: string, meaning: string]> = [
  ['rack', 'Rack', 'The rack of a node'],
  ['power', 'Power', 'What feeds a node: a PDU'],
  ['fabric', 'NVLink domain', 'The fabric that GPUs share'],
  ['leaf', 'Leaf switch', 'The switch of the network, InfiniBand’s as well'],
];

type Mode = 'usual' | 'own' | 'none';

const MODES: Array<{ value: Mode; label: string }> = [
  { value: 'usual', label: 'Usual labels' },
  { value: 'own', label: 'These' },
  { value: 'none', label: 'None' },
];

/** What nodes share makes one incident of faults that they have at once. */
export function PlaceFields() {
  return (
    <Folded
      title="Places"
      description="Labels that name what nodes share: faults of one place at once are one incident. Of several the first that is there counts."
    >
      <Row>
        {PLACES.map(([key, label, meaning]) => (
          <Place key={key} path={`insight.places.${key}`} label={label} meaning={meaning} />
        ))}
      </Row>
    </Folded>
  );
}

function Place({ path, label, meaning }: { path: string; label: string; meaning: string }) {
  const { value, rule, disabled, set } = useSetting<string[]>(path);
  const usual = Array.isArray(rule.default) ? rule.default : [];
  const mode = modeOf(value);
  const choose = (next: Mode) => set({ usual: undefined, own: usual, none: [] }[next]);
  return (
    <div data-setting={path}>
      <Fields>
        <Field label={label} description={meaning} disabled={disabled} noMargin>
          <RadioButtonGroup
            id={`${path}.mode`}
            aria-label={label}
            size="sm"
            options={MODES}
            value={mode}
            disabled={disabled}
            onChange={choose}
          />
        </Field>
        {mode !== 'none' && (
          <LinesSetting
            path={path}
            label={`Labels of ${label}`}
            placeholder={usual.join('\n')}
            rows={2}
            check={labelProblem}
          />
        )}
      </Fields>
    </div>
  );
}

function modeOf(value: string[] | undefined): Mode {
  if (value === undefined) {
    return 'usual';
  }
  return value.length === 0 ? 'none' : 'own';
}
