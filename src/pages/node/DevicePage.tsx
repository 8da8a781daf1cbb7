import React, { useState } from 'react';
import { useParams } from 'react-router-dom';

import { Page } from '../shared/Page';
import { clusterPath, fromSegment, gpuPath, nodePath, PATHS } from '../shared/paths';
import { DeviceView } from './DeviceView';
import { type Called, namesOf, NOT_YET, type Place, scopeOfPlace } from './place';

/** A node, one of its GPUs, or one of a GPU's MIG instances: the address says which. */
export function DevicePage() {
  const place = placeOf(useParams());
  const [called, setCalled] = useState<Called>(NOT_YET);
  return (
    <Page nav={navOf(place, called)} subTitle={place.gpu && <Board uuid={place.gpu} called={called} />}>
      {(view) => (
        <DeviceView
          key={JSON.stringify(place)}
          {...view}
          place={place}
          scope={scopeOfPlace(place)}
          onCalled={setCalled}
        />
      )}
    </Page>
  );
}

/** What a GPU is, and the name that never changes. */
function Board({ uuid, called }: { uuid: string; called: Called }) {
  return <>{[called.of === uuid && called.model, uuid].filter(Boolean).join(' · ')}</>;
}

function placeOf({ cluster, node, gpu, mig }: Partial<Record<string, string>>): Place {
  return { cluster: fromSegment(cluster), node: fromSegment(node), gpu: fromSegment(gpu), mig: fromSegment(mig) };
}

/** The path from the fleet down to the place. */
function navOf({ cluster, node, gpu, mig }: Place, called: Called) {
  const names = namesOf({ gpu, mig }, called);
  const steps = [
    { text: 'Fleet', url: PATHS.fleet },
    { text: cluster, url: clusterPath(cluster) },
    { text: node, url: nodePath(cluster, node) },
    { text: names.gpu, url: gpuPath({ cluster, node, gpu }) },
    { text: names.mig, url: gpuPath({ cluster, node, gpu, mig }) },
  ].filter(({ text }) => text !== '');
  return steps.slice(1).reduce<Nav>((parentItem, step) => ({ ...step, parentItem }), steps[0]);
}

interface Nav {
  text: string;
  url: string;
  parentItem?: Nav;
}
