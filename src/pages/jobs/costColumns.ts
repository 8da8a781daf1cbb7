import { type TableColumn } from '../shared/TableSection';

/** What GPU time was had, what came of it and what it cost: of an owner, or of one job. */
export const COST_COLUMNS: TableColumn[] = [
  { header: 'GPUs', column: 'gpus' },
  { header: 'GPU-hours had', column: 'allocated_hours' },
  { header: 'used', column: 'used_hours' },
  { header: 'idle', column: 'idle_hours' },
  { header: 'not measured', column: 'unmeasured_hours' },
  { header: 'Efficiency', column: 'efficiency' },
  { header: 'Energy, kWh', column: 'energy_kwh' },
  { header: 'Cost', column: 'cost_allocated' },
  { header: 'of idle time', column: 'cost_idle' },
  { header: 'Waste an hour', column: 'waste_per_hour' },
  { header: 'Currency', column: 'currency' },
];
