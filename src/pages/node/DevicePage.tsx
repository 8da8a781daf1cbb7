import React from 'react';
import { useParams } from 'react-router-dom';

import { Page } from '../shared/Page';
import { fromSegment, gpuPath, nodePath, PATHS } from '../shared/paths';
import { DeviceView } from './DeviceView';
import { type Place, scopeOfPlace } from './place';

/** A node, one of its GPUs, or one of a GPU's MIG instances: the address says which. */
export function DevicePage() {
  const place = placeOf(useParams());
  return (
    <Page nav={navOf(place)}>
      {(view) => <DeviceView key={JSON.stringify(place)} {...view} place={place} scope={scopeOfPlace(place)} />}
    </Page>
  );
}

function placeOf({ cluster, node, gpu, mig }: Partial<Record<string, string>>): Place {
  return { cluster: fromSegment(cluster), node: fromSegment(node), gpu: fromSegment(gpu), mig: fromSegment(mig) };
}

/** The path from the fleet down to the place. */
function navOf({ cluster, node, gpu, mig }: Place) {
  const steps = [
    { text: 'Fleet', url: PATHS.fleet },
    { text: cluster, url: `${PATHS.fleet}?${new URLSearchParams({ cluster })}` },
    { text: node, url: nodePath(cluster, node) },
    { text: gpu, url: gpuPath({ cluster, node, gpu }) },
    { text: mig && `MIG ${mig}`, url: gpuPath({ cluster, node, gpu, mig }) },
  ].filter(({ text }) => text !== '');
  return steps.slice(1).reduce<Nav>((parentItem, step) => ({ ...step, parentItem }), steps[0]);
}

interface Nav {
  text: string;
  url: string;
  parentItem?: Nav;
}
