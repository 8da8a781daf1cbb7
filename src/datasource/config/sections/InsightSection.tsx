import { ConfigSection } from '@grafana/plugin-ui';
import React from 'react';

import { type InsightSettings } from '../../types';
import { currencyProblem, patternProblem } from '../checks/words';
import { ChoiceSetting } from '../form/ChoiceSetting';
import { Fields, Folded, Row } from '../form/Folded';
import { useSetting } from '../form/Form';
import { ItemList } from '../form/ItemList';
import { NumberSetting } from '../form/NumberSetting';
import { TextSetting } from '../form/TextSetting';
import { Thresholds } from '../thresholds/Thresholds';
import { CLASSES } from './choices';
import { MaintenanceFields } from './MaintenanceFields';
import { PlaceFields } from './PlaceFields';

type Price = NonNullable<InsightSettings['prices']>[number];
type Budget = NonNullable<InsightSettings['budgets']>[number];
type Rule = NonNullable<InsightSettings['classes']>[number];

/** What the query types that judge are told. */
export function InsightSection() {
  return (
    <ConfigSection
      title="Judgements and costs"
      description="What bottleneck, health, efficiency and the other judgements are told: prices, budgets, classes of work, maintenance and thresholds."
      isCollapsible
      isInitiallyOpen={false}
    >
      <Fields>
        <Prices />
        <Energy />
        <Budgets />
        <Classes />
        <MaintenanceFields />
        <PlaceFields />
        <Folded
          title="Thresholds"
          description="Those that differ from the defaults, for all GPUs, for a class of work or for a model"
        >
          <Thresholds />
        </Folded>
      </Fields>
    </ConfigSection>
  );
}

function useCurrency(): string {
  const { value, rule } = useSetting<string>('insight.currency');
  return value?.trim() || String(rule.default);
}

function Prices() {
  const currency = useCurrency();
  return (
    <Folded title="Prices of GPUs" description="What a GPU costs for an hour. What is left out fits all.">
      <TextSetting
        path="insight.currency"
        label="Currency"
        description="Of prices and budgets that do not say"
        width={12}
        check={currencyProblem}
      />
      <ItemList<Price>
        path="insight.prices"
        noun="price"
        nameOf={({ model, cluster }, index) => [model, cluster].filter(Boolean).join(' in ') || String(index + 1)}
        create={() => ({})}
        plain
      >
        {(_, path) => (
          <Row>
            <TextSetting path={`${path}.model`} label="Model" placeholder="Any, or H100 PCIe" width={24} />
            <TextSetting path={`${path}.cluster`} label="Cluster" placeholder="Any" width={20} />
            <NumberSetting path={`${path}.perGPUHour`} label="Per GPU and hour" width={18} required />
            <TextSetting
              path={`${path}.currency`}
              label="Currency"
              placeholder={currency}
              width={12}
              check={currencyProblem}
            />
          </Row>
        )}
      </ItemList>
    </Folded>
  );
}

function Energy() {
  const currency = useCurrency();
  return (
    <Folded title="Energy and carbon" description="Left empty where it is not known">
      <Row>
        <NumberSetting
          path="insight.energy.pricePerKWh"
          label="Price of a kWh"
          description={`In ${currency}`}
          placeholder="not known"
        />
        <NumberSetting
          path="insight.energy.carbonKgPerKWh"
          label="Carbon of a kWh"
          description="Kilograms of CO2"
          unit="kg"
          placeholder="not known"
        />
        <NumberSetting
          path="insight.energy.pue"
          label="PUE"
          description="What the data centre draws for each watt of its machines, 1 to 10"
          placeholder="not known"
          also={0}
        />
      </Row>
    </Folded>
  );
}

function Budgets() {
  const currency = useCurrency();
  return (
    <Folded title="Budgets" description={`What may be spent in a month, in ${currency}`}>
      <ItemList<Budget>
        path="insight.budgets"
        noun="budget"
        nameOf={({ name }, index) => name || String(index + 1)}
        create={() => ({})}
        plain
      >
        {(_, path) => (
          <Row>
            <TextSetting
              path={`${path}.name`}
              label="Name"
              width={24}
              required
              check={(text) => (text ? undefined : 'Write a name: answers call the budget by it.')}
            />
            <NumberSetting path={`${path}.month`} label="Per month" width={18} required />
            <TextSetting
              path={`${path}.namespace`}
              label="Namespace"
              placeholder="Any, or /team-.*/"
              width={24}
              check={patternProblem}
            />
          </Row>
        )}
      </ItemList>
    </Folded>
  );
}

const PATTERNS: Array<[key: string, label: string]> = [
  ['namespace', 'Namespace'],
  ['pod', 'Pod'],
  ['job', 'Job'],
  ['user', 'User'],
];

function Classes() {
  return (
    <Folded
      title="Classes of work"
      description="Which work is training and which inference: exact texts, or regular expressions between slashes. The first that fits counts; without a rule work is told apart by its metrics."
    >
      <ItemList<Rule>
        path="insight.classes"
        noun="class rule"
        nameOf={(_, index) => String(index + 1)}
        create={() => ({ class: 'training' })}
        plain
      >
        {(item, path) => (
          <Row>
            <ChoiceSetting
              path={`${path}.class`}
              label="Class"
              choices={CLASSES}
              problem={fitsAll(item) ? 'It fits everything: write a namespace, pod, job or user.' : undefined}
            />
            {PATTERNS.map(([key, label]) => (
              <TextSetting
                key={key}
                path={`${path}.${key}`}
                label={label}
                placeholder="Any"
                width={20}
                check={patternProblem}
              />
            ))}
          </Row>
        )}
      </ItemList>
    </Folded>
  );
}

function fitsAll({ namespace, pod, job, user }: Rule): boolean {
  return ![namespace, pod, job, user].some(Boolean);
}
