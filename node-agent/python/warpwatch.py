# SPDX-License-Identifier: Apache-2.0
"""Report a training job's numbers to the Warpwatch agent of its node.

One file without dependencies, for Python 3.8 and later: copy it beside your training script.

    import warpwatch
    report = warpwatch.Reporter()              # pushes to http://127.0.0.1:9847/v1/metrics
    for batch in report.data(loader):
        ...
        report.step(loss=loss, tokens=batch_tokens)

It never raises into the training and never waits for the network, the disk or the GPU: a thread of its own sends the
newest values every few seconds, and tensors are copied from the GPU without waiting for it, so that they may be one step old.

Environment: WARPWATCH_URL, WARPWATCH_TOKEN_FILE, WARPWATCH_TEXTFILE_DIR, WARPWATCH_JOB_ID, WARPWATCH_NODE, WARPWATCH_OFF=1.
"""

import atexit
import contextlib
import functools
import http.client
import json
import logging
import math
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse
import weakref

__all__ = ["Reporter", "lightning_callback", "attach_torchtitan", "attach_megatron", "attach_deepspeed"]

DEFAULT_URL = "http://127.0.0.1:9847/v1/metrics"
_GIB = 1 << 30
_MAX_METRICS = 200
_NAME = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_log = logging.getLogger("warpwatch")

HELP = {
    "train_loss": "Loss of the newest step.",
    "train_accuracy_ratio": "Accuracy, 0 to 1.",
    "train_grad_norm": "Norm of the gradients.",
    "train_learning_rate": "Learning rate.",
    "train_step_total": "Optimizer steps done.",
    "train_step_seconds": "Duration of the newest step.",
    "train_data_load_seconds": "Time that the newest step waited for its data.",
    "train_allreduce_seconds": "Time of the newest step in collectives, as the host sees it.",
    "train_checkpoint_seconds_total": "Time spent writing checkpoints.",
    "train_tokens_per_second": "Tokens per second of this process in the newest step.",
    "train_samples_per_second": "Samples per second of this process in the newest step.",
    "train_memory_allocated_bytes": "GPU memory in tensors.",
    "train_memory_reserved_bytes": "GPU memory that the allocator holds.",
    "train_memory_inactive_split_bytes": "GPU memory in split blocks that cannot be given back: fragmentation.",
    "train_alloc_retries_total": "Allocations that only succeeded after the cache was emptied.",
    "train_ooms_total": "Allocations that failed for want of memory.",
    "train_pipeline_bubble_ratio": "Share of a step that pipeline stages idle: (p-1)/(m+p-1).",
    "train_gpus": "GPUs of the job.",
    "train_model_parameters": "Parameters of the model.",
    "train_model_flops_per_token": "Floating-point operations that a token costs, forward and backward.",
    "train_gpu_flops_per_second": "Model operations per second and GPU, as the framework computes them.",
    "train_mfu_ratio": "Model FLOPs utilisation, as the framework computes it.",
}


def _quiet(method):
    """The training goes on, whatever happens here."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except Exception as e:  # noqa: BLE001
            _complain("%s: %s" % (method.__name__, e))
            return None

    return wrapped


_said = set()


def _complain(text):
    if text not in _said and len(_said) < 20:
        _said.add(text)
        _log.warning("%s", text)


def _env(*names):
    for name in names:
        if os.environ.get(name):
            return os.environ[name]
    return None


class _OnTheWay:
    """A value that the GPU still computes, on its way to the host."""

    def __init__(self, tensor):
        self.host = tensor.to("cpu", non_blocking=True)
        self.event = sys.modules["torch"].cuda.current_stream(tensor.device).record_event()

    def ready(self):
        return self.event.query()


def _take(value):
    """A number, or one on its way. Distributed tensors are left alone: to read one is a collective."""
    if value is None or isinstance(value, (int, float)):
        return value
    if hasattr(value, "full_tensor"):
        _complain("a distributed tensor is not reported: give its local value")
        return None
    if hasattr(value, "detach"):
        value = value.detach()
    if getattr(value, "is_cuda", False):
        return _OnTheWay(value)
    return float(value)


class Reporter:
    """Collects the numbers of one process and sends them. All its methods may be called from any thread."""

    def __init__(self, job_id=None, rank=None, node=None, gpu=None, labels=None, url=None, token_file=None,
                 textfile_dir=None, interval=5.0, timeout=2.0):
        self._given = (job_id, rank, node, gpu, labels, url, token_file, textfile_dir, interval, timeout)
        self._pid, self._lock = os.getpid(), threading.Condition()
        self._gauges, self._counters, self._waiting = {}, {}, {}
        self._slot, self._thread, self._closed = None, None, False
        self._started_ns, self._last_step, self._last_memory = time.time_ns(), None, 0.0
        self._loading, self._reducing = 0.0, 0.0
        self._interval, self._timeout, self._gpu, self._sink = 5.0, 2.0, gpu, None
        try:
            self._interval, self._timeout = max(0.05, float(interval)), float(timeout)
            self._labels = self._identity(job_id, rank, node, labels)
            if not _env("WARPWATCH_OFF"):
                folder = textfile_dir or _env("WARPWATCH_TEXTFILE_DIR")
                if folder:
                    self._sink = _Textfile(folder, self._labels)
                else:
                    self._sink = _Push(url or _env("WARPWATCH_URL") or DEFAULT_URL,
                                       token_file or _env("WARPWATCH_TOKEN_FILE"), self._timeout)
        except Exception as e:  # noqa: BLE001
            self._labels = {}
            _complain("nothing is reported: %s" % e)
        me = weakref.ref(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: me() is not None and me()._forked())
        atexit.register(lambda: me() is not None and me().close())

    @staticmethod
    def _identity(job_id, rank, node, labels):
        found = {
            "job_id": job_id or _env("WARPWATCH_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "TORCHELASTIC_RUN_ID"),
            "rank": rank if rank is not None else _env("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
            "node": node or _env("WARPWATCH_NODE"),
        }
        found.update(labels or {})
        return {k: str(v) for k, v in found.items() if v is not None and str(v) != ""}

    def __reduce__(self):
        """A copy begins anew, with the rank of the process that it is in unless one was given."""
        return Reporter, self._given

    def _forked(self):
        """A child (a data loader's worker, say) has nothing to report, and none of its parent's threads and locks."""
        self._closed, self._thread, self._sink, self._lock = True, None, None, threading.Condition()

    def _mine(self):
        if self._sink is None or self._closed or self._pid != os.getpid():
            return False
        data = sys.modules.get("torch.utils.data")  # a loader's worker that was started anew has a copy
        return data is None or data.get_worker_info() is None

    # What a training loop calls.

    @_quiet
    def set(self, name, value):
        """Set a gauge. A tensor may be given; names begin with train_ or serve_, or with one of your own."""
        if self._mine():
            self._put(name, value)
            self._publish()

    @_quiet
    def add(self, name, value=1):
        """Add to a counter, whose name ends in _total."""
        if self._mine() and self._fits(name):
            with self._lock:
                self._counters[name] = self._counters.get(name, 0.0) + float(value)

    @_quiet
    def _count(self, name, value):
        """Set a counter to what the framework counted."""
        if self._mine() and self._fits(name):
            with self._lock:
                self._counters[name] = float(value)

    @_quiet
    def step(self, step=None, loss=None, accuracy=None, grad_norm=None, learning_rate=None, tokens=None, samples=None,
             seconds=None, **others):
        """End a step. tokens and samples are those of this process in this step; others are gauges by their names."""
        if not self._mine():
            return
        now = time.perf_counter()
        if seconds is None and self._last_step is not None:
            seconds = now - self._last_step
        self._last_step = now
        values = {"train_loss": loss, "train_accuracy_ratio": accuracy, "train_grad_norm": grad_norm,
                  "train_learning_rate": learning_rate, "train_step_seconds": seconds}
        if seconds:
            values["train_tokens_per_second"] = None if tokens is None else float(tokens) / seconds
            values["train_samples_per_second"] = None if samples is None else float(samples) / seconds
        with self._lock:
            values["train_data_load_seconds"], self._loading = self._loading or None, 0.0
            values["train_allreduce_seconds"], self._reducing = self._reducing or None, 0.0
            done = self._counters.get("train_step_total", 0.0) + 1
            self._counters["train_step_total"] = done if step is None else float(step)
        values.update(others)
        self._settle()
        for name, value in values.items():
            self._put(name, value)
        self._memory()
        self._publish()

    def data(self, loader):
        """Iterate over a loader, and time the wait for each batch."""
        batches = iter(loader)
        while True:
            began = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            self._loading += time.perf_counter() - began
            yield batch

    @contextlib.contextmanager
    def allreduce(self):
        """Time collectives. Asynchronous ones end on the GPU, later than this sees."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._reducing += time.perf_counter() - began

    @contextlib.contextmanager
    def checkpoint(self):
        """Time the writing of a checkpoint, which is then no part of the step."""
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.add("train_checkpoint_seconds_total", took)
            if self._last_step is not None:
                self._last_step += took

    @_quiet
    def model(self, parameters=None, gpus=None, flops_per_token=None):
        """Say what is trained: the inputs of MFU. parameters is a number or a torch module."""
        if hasattr(parameters, "parameters"):
            parameters = sum(p.numel() for p in parameters.parameters())
        self.set("train_model_parameters", parameters)
        self.set("train_gpus", gpus if gpus is not None else _env("WORLD_SIZE"))
        self.set("train_model_flops_per_token", flops_per_token)

    @_quiet
    def pipeline(self, stages, microbatches):
        """Say how the pipeline is cut; its bubble follows."""
        self.set("train_pipeline_bubble_ratio", (stages - 1) / (microbatches + stages - 1))

    @_quiet
    def close(self):
        """Send what is left, for at most the timeout, and stop. Called at exit, too."""
        if not self._mine():
            return
        self._settle()
        if self._gauges or self._counters:
            self._publish()
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(self._timeout + 0.5)

    # What is behind it.

    def _fits(self, name):
        if not _NAME.match(name):
            _complain("%r is no name of a metric: use letters, digits and _" % (name,))
            return False
        known = name in self._gauges or name in self._counters or name in self._waiting
        if not known and len(self._gauges) + len(self._counters) >= _MAX_METRICS:
            _complain("%r is one metric too many: at most %d are reported" % (name, _MAX_METRICS))
            return False
        return True

    def _put(self, name, value):
        """Keep a value. One that is none leaves the others alone."""
        if value is None or not self._fits(name):
            return
        try:
            with self._lock:
                if name in self._waiting:
                    return  # the one before is not there yet: the host is ahead of the GPU
                value = _take(value)
                if isinstance(value, _OnTheWay):
                    self._waiting[name] = value
                elif value is not None:
                    self._gauges[name] = float(value)
        except Exception as e:  # noqa: BLE001
            _complain("%s is not reported: %s" % (name, e))

    def _settle(self):
        """Take the tensors that arrived; nobody waits for the others."""
        with self._lock:
            for name in list(self._waiting):
                try:
                    if self._waiting[name].ready():
                        self._gauges[name] = float(self._waiting.pop(name).host)
                except Exception as e:  # noqa: BLE001
                    self._waiting.pop(name, None)
                    _complain("%s is not reported: %s" % (name, e))

    @_quiet
    def _memory(self):
        """Ask PyTorch's allocator, which answers from the host's memory."""
        torch, now = sys.modules.get("torch"), time.monotonic()
        if torch is None or now - self._last_memory < min(1.0, self._interval) or not torch.cuda.is_initialized():
            return
        self._last_memory = now
        if "gpu_uuid" not in self._labels and "mig_uuid" not in self._labels:
            self._labels.update(_device(torch, self._gpu))
        stats = torch.cuda.memory_stats(self._gpu)
        for name, key in (("train_memory_allocated_bytes", "allocated_bytes.all.current"),
                          ("train_memory_reserved_bytes", "reserved_bytes.all.current"),
                          ("train_memory_inactive_split_bytes", "inactive_split_bytes.all.current")):
            if key in stats:
                self._put(name, stats[key])
        with self._lock:
            for name, key in (("train_alloc_retries_total", "num_alloc_retries"), ("train_ooms_total", "num_ooms")):
                if key in stats:
                    self._counters[name] = float(stats[key])

    def _publish(self):
        """Put the newest values where the thread finds them, in the place of older ones."""
        self._settle()
        with self._lock:
            if self._closed:
                return
            self._slot = (dict(self._labels), dict(self._gauges), dict(self._counters), self._started_ns, time.time_ns())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="warpwatch", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def _run(self):
        pause = 0.0
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed, pause)
                self._lock.wait_for(lambda: self._closed or self._slot is not None)
                snapshot, self._slot, closed = self._slot, None, self._closed
            pause = self._interval
            if snapshot is not None:
                try:
                    pause = max(pause, self._sink.send(*snapshot) or 0.0)
                except Exception as e:  # noqa: BLE001
                    _complain("send to the Warpwatch agent: %s" % e)
            if closed:
                with contextlib.suppress(Exception):
                    self._sink.close()
                return


def _device(torch, index):
    """The label of the GPU that this process computes on."""
    visible = [v.strip() for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v.strip()]
    index = torch.cuda.current_device() if index is None else index
    named = visible[index] if index < len(visible) else ""
    if named.startswith("MIG-"):
        return {"mig_uuid": named}
    uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", "") or "")
    if uuid:
        return {"gpu_uuid": uuid if uuid.startswith("GPU-") else "GPU-" + uuid}
    return {"gpu_uuid": named} if named.startswith("GPU-") else {}


class _Textfile:
    """A file in the agent's textfile folder, replaced whole and taken away at the end."""

    def __init__(self, folder, labels):
        name = "warpwatch_%s_%s" % (labels.get("job_id", "pid%d" % os.getpid()), labels.get("rank", "0"))
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:120]
        self.path = os.path.join(folder, name + ".prom")
        self.draft = os.path.join(folder, ".%s.%d" % (name, os.getpid()))

    def send(self, labels, gauges, counters, _started, _now):
        pairs = ",".join('%s="%s"' % (k, _escape(v)) for k, v in sorted(labels.items()))
        lines = []
        for kind, values in (("gauge", gauges), ("counter", counters)):
            for name, value in sorted(values.items()):
                if name in HELP:
                    lines.append("# HELP %s %s" % (name, HELP[name]))
                lines.append("# TYPE %s %s" % (name, kind))
                lines.append("%s{%s} %s" % (name, pairs, _number(value)))
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.draft)
        # Others may write into the folder, too: what they put under this name is neither followed nor waited for.
        with open(self.draft, "x", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
            os.fchmod(f.fileno(), 0o644)
        os.replace(self.draft, self.path)

    def close(self):
        for path in (self.draft, self.path):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def _escape(value):
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


class _Push:
    """OTLP/HTTP in JSON. No proxy is asked and no redirect followed: the token is the agent's only."""

    def __init__(self, url, token_file, timeout):
        at = urllib.parse.urlsplit(url)
        if at.scheme not in ("http", "https") or not at.hostname:
            raise ValueError("WARPWATCH_URL must be like %s" % DEFAULT_URL)
        if token_file and at.scheme == "http" and at.hostname not in _LOOPBACK:
            raise ValueError("a token is sent over https, or to this host only")
        self.at, self.token_file, self.timeout = at, token_file, timeout

    def send(self, labels, gauges, counters, started, now):
        common = {"attributes": [{"key": k, "value": {"stringValue": v}} for k, v in sorted(labels.items())],
                  "startTimeUnixNano": str(started), "timeUnixNano": str(now)}
        metrics = []
        for name, value in sorted(gauges.items()):
            metrics.append(_metric(name, gauge={"dataPoints": [dict(common, asDouble=_json(value))]}))
        for name, value in sorted(counters.items()):
            metrics.append(_metric(name, sum={"dataPoints": [dict(common, asDouble=_json(value))],
                                              "aggregationTemporality": 2, "isMonotonic": True}))
        body = json.dumps({"resourceMetrics": [{"scopeMetrics": [
            {"scope": {"name": "warpwatch.py"}, "metrics": metrics}]}]}, allow_nan=False)
        headers = {"Content-Type": "application/json"}
        if self.token_file:
            with open(self.token_file, encoding="utf-8") as f:
                headers["Authorization"] = "Bearer " + f.read().strip()
        return self._post(body.encode("utf-8"), headers)

    def _post(self, body, headers):
        if self.at.scheme == "https":
            to = http.client.HTTPSConnection(self.at.hostname, self.at.port, timeout=self.timeout,
                                             context=ssl.create_default_context())
        else:
            to = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=self.timeout)
        try:
            to.request("POST", self.at.path or "/v1/metrics", body=body, headers=headers)
            answer = to.getresponse()
            text = answer.read(4096).decode("utf-8", "replace")
            if answer.status in (429, 503):
                return min(60.0, float(answer.getheader("Retry-After") or 5))
            if answer.status != 200 or "errorMessage" in text:
                _complain("the agent answers %d: %s" % (answer.status, text))
        finally:
            to.close()
        return 0.0

    def close(self):
        pass


def _metric(name, **data):
    metric = {"name": name, "description": HELP.get(name, "")}
    metric.update(data)
    return metric


def _json(value):
    """JSON has no word for these numbers, OTLP has."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# Frameworks. Each adapter listens where the framework reports anyway, and passes everything on.


def lightning_callback(report=None, tokens=None, samples=None):
    """A callback for Lightning's Trainer. tokens and samples are functions of a batch."""
    report = report or Reporter()
    base = object
    for name in ("lightning.pytorch", "pytorch_lightning"):
        with contextlib.suppress(Exception):
            base = __import__(name, fromlist=["Callback"]).Callback
            break

    class WarpwatchCallback(base):
        def __reduce__(self):
            return lightning_callback, (report, tokens, samples)

        def on_train_start(self, trainer, pl_module):
            report.model(parameters=pl_module, gpus=getattr(trainer, "world_size", None))

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, *_):
            _lightning_step(report, trainer, outputs, batch, tokens, samples)

        def on_train_end(self, trainer, pl_module):
            report.close()

        def on_exception(self, trainer, pl_module, exception):
            report.close()

    return WarpwatchCallback()


def _lightning_step(report, trainer, outputs, batch, tokens, samples):
    with _unheard():
        logged = dict(getattr(trainer, "callback_metrics", None) or {})
        optimizers = getattr(trainer, "optimizers", None) or []
        report.step(
            step=getattr(trainer, "global_step", None),
            loss=outputs.get("loss") if isinstance(outputs, dict) else outputs,
            learning_rate=optimizers[0].param_groups[0]["lr"] if optimizers else None,
            accuracy=logged.get("train_acc", logged.get("train_accuracy", logged.get("accuracy"))),
            grad_norm=logged.get("grad_norm"),
            tokens=tokens(batch) if tokens else None, samples=samples(batch) if samples else None)


class _Tee:
    """Stands before a logger: sees what is logged and passes it on. Without a logger behind it, it swallows."""

    def __init__(self, inner, **seen):
        self.__dict__.update(seen, _inner=inner)

    def __getattr__(self, name):
        return getattr(self._inner, name) if self._inner is not None else lambda *a, **k: None

    def __setattr__(self, name, value):
        if self._inner is not None:
            setattr(self._inner, name, value)


@contextlib.contextmanager
def _unheard():
    """What goes wrong here is logged, and not the framework's concern."""
    try:
        yield
    except Exception as e:  # noqa: BLE001
        _complain("a framework's numbers: %s: %s" % (type(e).__name__, e))


def _scaled(report, names, key, value, step=None):
    """Report a framework's number under the name that dashboards know."""
    if key not in names or value is None:
        return
    name, factor = names[key]
    value = value * factor if factor != 1 else value
    if step is not None:
        report._count("train_step_total", step)
    if name.endswith("_total"):
        report._count(name, value)
    else:
        report.set(name, value)


TORCHTITAN = {
    "loss_metrics/global_avg_loss": ("train_loss", 1), "grad_norm": ("train_grad_norm", 1), "lr": ("train_learning_rate", 1),
    "throughput(tps)": ("train_tokens_per_second", 1), "tflops": ("train_gpu_flops_per_second", 1e12),
    "mfu(%)": ("train_mfu_ratio", 0.01), "time_metrics/end_to_end(s)": ("train_step_seconds", 1),
    "time_metrics/data_loading(s)": ("train_data_load_seconds", 1), "memory/num_alloc_retries": ("train_alloc_retries_total", 1),
    "memory/num_ooms": ("train_ooms_total", 1), "memory/max_active(GiB)": ("train_memory_allocated_bytes", _GIB),
    "memory/max_reserved(GiB)": ("train_memory_reserved_bytes", _GIB),
}
MEGATRON = {
    "lm loss": ("train_loss", 1), "grad-norm": ("train_grad_norm", 1), "learning-rate": ("train_learning_rate", 1),
    "iteration-time": ("train_step_seconds", 1), "throughput": ("train_gpu_flops_per_second", 1e12),
    "mem-allocated-bytes": ("train_memory_allocated_bytes", 1), "mem-reserved-bytes": ("train_memory_reserved_bytes", 1),
}
DEEPSPEED = {
    "Train/Samples/train_loss": ("train_loss", 1), "Train/Samples/lr": ("train_learning_rate", 1),
    "Train/Samples/elapsed_time_ms_step": ("train_optimizer_seconds", 1e-3),
    "Train/Samples/elapsed_time_ms_backward_allreduce": ("train_allreduce_seconds", 1e-3),
}


@_quiet
def attach_torchtitan(metrics_processor, report=None):
    """Listen to torchtitan's metrics: attach_torchtitan(trainer.metrics_processor)."""
    report = report or Reporter()
    inner = metrics_processor.logger

    def log(*args, **kwargs):
        with _unheard():
            step = args[1] if len(args) > 1 else kwargs.get("step")
            for key, value in list((args[0] if args else kwargs["metrics"]).items()):
                _scaled(report, TORCHTITAN, key, value, step)
        return inner.log(*args, **kwargs)

    metrics_processor.logger = _Tee(inner, log=log)
    return report


@_quiet
def attach_megatron(holder=None, report=None, attribute="_GLOBAL_TENSORBOARD_WRITER"):
    """Listen to Megatron-LM's TensorBoard writer, after initialize_megatron. It need not have one. Without Python, set
    MEGATRON_OTEL_ENABLED=1 and OTEL_EXPORTER_OTLP_ENDPOINT: the agent knows those names, too."""
    report = report or Reporter()
    holder = holder or __import__("megatron.training.global_vars", fromlist=["x"])
    inner = getattr(holder, attribute)

    def add_scalar(tag, *args, **kwargs):
        with _unheard():
            value = args[0] if args else kwargs["scalar_value"]
            _scaled(report, MEGATRON, tag, value, args[1] if len(args) > 1 else kwargs.get("global_step"))
        return inner.add_scalar(tag, *args, **kwargs) if inner is not None else None

    setattr(holder, attribute, _Tee(inner, add_scalar=add_scalar))
    return report


@_quiet
def attach_deepspeed(engine, report=None):
    """Listen to DeepSpeed's monitor, whether or not one is configured. Its times come with wall_clock_breakdown."""
    report = report or Reporter()
    inner = engine.monitor

    def write_events(events, *args, **kwargs):
        with _unheard():
            for name, value, *_ in events:
                # The third field counts samples, not steps.
                _scaled(report, DEEPSPEED, name, value, getattr(engine, "global_steps", None))
        return inner.write_events(events, *args, **kwargs) if getattr(inner, "enabled", False) else None

    engine.monitor = _Tee(inner, write_events=write_events, enabled=True)
    return report
