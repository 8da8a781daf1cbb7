import { Button, IconButton, Stack, Text } from '@grafana/ui';
import React from 'react';

import { headerProblem } from '../checks/words';
import { type Options, withValue } from '../options';
import { headerSecret, isSet, withoutSecret, withSecret } from '../secrets';
import { Fields, Row } from './Folded';
import { useForm, useSetting } from './Form';
import { LazyInput } from './LazyInput';
import { SecretSetting } from './SecretSetting';

interface Props {
  /** Of the list of names. */
  path: string;
  /** What the keys of the values begin with. */
  prefix: string;
  /** Whom a tenant header makes sense for: Prometheus with tenants. */
  tenant?: boolean;
}

const TENANT = 'X-Scope-OrgID';

/** Headers to send. Names are settings, values are secrets that hang on the names. */
export function Headers({ path, prefix, tenant }: Props) {
  const { options, disabled, change } = useForm();
  const names = useSetting<string[]>(path).value ?? [];
  const add = (name: string) => change(withValue(options, path, [...names, name]));
  const remove = (name: string, index: number) => {
    const rest = names.filter((_, i) => i !== index);
    const without = rest.includes(name) ? options : forgetHeader(options, prefix, name);
    change(withValue(without, path, rest.length > 0 ? rest : undefined));
  };
  const rename = (index: number, to: string) => {
    const moved = renameHeader(options, prefix, names[index], to);
    change(
      withValue(
        moved,
        path,
        names.map((name, i) => (i === index ? to : name))
      )
    );
  };

  return (
    <div data-setting={path}>
      <Fields>
        <Text element="p" weight="medium">
          Headers
        </Text>
        {names.map((name, index) => (
          <Row key={index}>
            <LazyInput
              id={`${path}.${index}`}
              label="Header"
              value={name}
              placeholder={TENANT}
              disabled={disabled}
              problem={headerProblem(
                name,
                names.filter((_, i) => i !== index)
              )}
              onCommit={(to) => rename(index, to.trim())}
            />
            <SecretSetting
              secret={headerSecret(prefix, name)}
              label="Value"
              problem={
                name && !isSet(options, headerSecret(prefix, name)) ? 'Enter the value, or remove the header.' : ''
              }
            />
            <IconButton
              name="trash-alt"
              disabled={disabled}
              aria-label={`Remove header ${name || index + 1}`}
              onClick={() => remove(name, index)}
            />
          </Row>
        ))}
        <Stack gap={1}>
          <Button size="sm" variant="secondary" icon="plus" disabled={disabled} onClick={() => add('')}>
            Add header
          </Button>
          {tenant && !names.includes(TENANT) && (
            <Button size="sm" variant="secondary" icon="plus" disabled={disabled} onClick={() => add(TENANT)}>
              Add tenant header
            </Button>
          )}
        </Stack>
      </Fields>
    </div>
  );
}

function forgetHeader(options: Options, prefix: string, name: string): Options {
  return isSet(options, headerSecret(prefix, name)) ? withoutSecret(options, headerSecret(prefix, name)) : options;
}

/** What is typed goes along with the name; what is stored cannot be read, and has to be entered again. */
function renameHeader(options: Options, prefix: string, from: string, to: string): Options {
  const typed = options.secureJsonData?.[headerSecret(prefix, from)];
  const without = forgetHeader(options, prefix, from);
  return typed ? withSecret(without, headerSecret(prefix, to), typed) : without;
}
