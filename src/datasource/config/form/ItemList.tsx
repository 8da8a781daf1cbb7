import { css } from '@emotion/css';
import { type GrafanaTheme2 } from '@grafana/data';
import { Button, IconButton, Stack, Text, useStyles2 } from '@grafana/ui';
import React, { type ReactNode, useEffect, useRef, useState } from 'react';

import { type Options, valueAt, withValue } from '../options';
import { useForm } from './Form';

interface Props<T> {
  /** Of the list in jsonData. */
  path: string;
  /** What one entry is: `cluster`. */
  noun: string;
  nameOf: (item: T, index: number) => string;
  create: (options: Options) => T;
  /** What else goes with an entry: its secrets. */
  onRemove?: (options: Options, item: T) => Options;
  children: (item: T, path: string, index: number) => ReactNode;
  /** Entries without a heading, for those of a line or two. */
  plain?: boolean;
}

type Step = -1 | 1;

/** A list whose entries can be added, moved and removed, by keyboard, too: the focus goes along, and what happened is announced. */
export function ItemList<T>({ path, noun, nameOf, create, onRemove, children, plain }: Props<T>) {
  const styles = useStyles2(getStyles);
  const { options, disabled, change } = useForm();
  const items = (valueAt(options, path) as T[] | undefined) ?? [];
  const keys = useKeys(items.length);
  const list = useRef<HTMLDivElement>(null);
  const next = useRef<string>();
  const [news, setNews] = useState('');

  useEffect(() => {
    if (next.current !== undefined) {
      const wanted = [...(list.current?.querySelectorAll<HTMLElement>(next.current) ?? [])];
      wanted.find((element) => !element.hasAttribute('disabled'))?.focus();
      next.current = undefined;
    }
  });

  const add = () => {
    keys.add();
    next.current = `[data-item="${path}.${items.length}"] :is(input, textarea)`;
    setNews(`Added ${noun} ${items.length + 1}`);
    change(withValue(options, path, [...items, create(options)]));
  };
  const remove = (index: number) => {
    const rest = items.filter((_, i) => i !== index);
    keys.remove(index);
    next.current = `[data-add="${path}"]`;
    setNews(`Removed ${noun} ${nameOf(items[index], index)}`);
    const without = onRemove?.(options, items[index]) ?? options;
    change(withValue(without, path, rest.length > 0 ? rest : undefined));
  };
  const move = (index: number, step: Step) => {
    const moved = [...items];
    [moved[index], moved[index + step]] = [moved[index + step], moved[index]];
    keys.swap(index, index + step);
    const here = `[data-move="${path}.${index + step}.`;
    next.current = `${here}${step}"], ${here}${-step}"]`;
    setNews(`Moved ${noun} ${nameOf(items[index], index)} to place ${index + step + 1} of ${items.length}`);
    change(withValue(options, path, moved));
  };

  return (
    <div ref={list} data-setting={path}>
      <Stack direction="column" gap={2}>
        {items.map((item, index) => (
          <div
            key={keys.list[index]}
            role="group"
            aria-label={`${capital(noun)} ${nameOf(item, index)}`}
            data-item={`${path}.${index}`}
            className={plain ? styles.line : styles.item}
          >
            <Stack direction={plain ? 'row' : 'row-reverse'} justifyContent="space-between" alignItems="center" gap={1}>
              <Stack gap={1} alignItems="center">
                {moveButton(index, -1)}
                {moveButton(index, 1)}
                <IconButton
                  name="trash-alt"
                  disabled={disabled}
                  aria-label={`Remove ${noun} ${nameOf(item, index)}`}
                  onClick={() => remove(index)}
                />
              </Stack>
              {!plain && <Text element="h4">{nameOf(item, index)}</Text>}
            </Stack>
            <div className={plain ? styles.fields : styles.below}>{children(item, `${path}.${index}`, index)}</div>
          </div>
        ))}
        <div>
          <Button variant="secondary" icon="plus" disabled={disabled} data-add={path} onClick={add}>
            {`Add ${noun}`}
          </Button>
        </div>
        <div role="status" className="sr-only">
          {news}
        </div>
      </Stack>
    </div>
  );

  function moveButton(index: number, step: Step) {
    const outside = index + step < 0 || index + step >= items.length;
    return (
      items.length > 1 && (
        <IconButton
          name={step < 0 ? 'arrow-up' : 'arrow-down'}
          data-move={`${path}.${index}.${step}`}
          disabled={disabled || outside}
          aria-label={`Move ${noun} ${nameOf(items[index], index)} ${step < 0 ? 'up' : 'down'}`}
          onClick={() => move(index, step)}
        />
      )
    );
  }
}

/** Keys that stay with their entries, which have none of their own that could not change. */
function useKeys(length: number) {
  const [list, setList] = useState<number[]>(() => Array.from({ length }, (_, i) => i));
  const fresh = (from: number[]) => Math.max(-1, ...from) + 1;
  const padded = [...list.slice(0, length)];
  while (padded.length < length) {
    padded.push(fresh([...list, ...padded]));
  }
  return {
    list: padded,
    add: () => setList([...padded, fresh(padded)]),
    remove: (index: number) => setList(padded.filter((_, i) => i !== index)),
    swap: (a: number, b: number) => setList(padded.map((key, i) => (i === a ? padded[b] : i === b ? padded[a] : key))),
  };
}

function capital(word: string): string {
  return word[0].toUpperCase() + word.slice(1);
}

const getStyles = (theme: GrafanaTheme2) => ({
  item: css({
    padding: theme.spacing(2),
    border: `1px solid ${theme.colors.border.weak}`,
    borderRadius: theme.shape.radius.default,
  }),
  line: css({
    display: 'flex',
    flexDirection: 'row-reverse',
    justifyContent: 'flex-end',
    alignItems: 'flex-end',
    gap: theme.spacing(2),
  }),
  fields: css({ minWidth: 0 }),
  below: css({ marginTop: theme.spacing(1) }),
});
