# SPDX-License-Identifier: Apache-2.0
"""Tests of warpwatch.py with the standard library alone: python3 -m unittest, in this folder."""

import copy
import http.server
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import warpwatch


class Agent:
    """What the agent would answer, and what it was sent."""

    def __init__(self, status=200, answer=b"{}", headers=()):
        self.got, self.arrived = [], threading.Condition()
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with agent.arrived:
                    agent.got.append((self.path, dict(self.headers), json.loads(body)))
                    agent.arrived.notify_all()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/v1/metrics" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def values(self):
        """The newest value of each metric, by name."""
        found = {}
        for _, _, body in self.got:
            for m in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
                found[m["name"]] = m.get("gauge", m.get("sum"))["dataPoints"][0]["asDouble"]
        return found


def clean():
    return {k: v for k, v in os.environ.items()
            if not k.startswith(("WARPWATCH", "SLURM", "CUDA")) and k not in ("RANK", "WORLD_SIZE")}


class Case(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, clean(), clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        warpwatch._said.clear()

    def agent(self, **kwargs):
        a = Agent(**kwargs)
        self.addCleanup(a.stop)
        return a

    def folder(self):
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        return d.name


class Push(Case):
    def test_a_loop(self):
        agent = self.agent()
        os.environ.update(SLURM_JOB_ID="42", RANK="3", WORLD_SIZE="8", WARPWATCH_NODE="n1")
        report = warpwatch.Reporter(url=agent.url, interval=0.05, labels={"model": "tiny"})
        report.model(parameters=1000, flops_per_token=6000)
        report.pipeline(4, 8)
        for i, _ in enumerate(report.data([1, 2])):
            with report.allreduce():
                pass
            report.step(loss=2.0 - i, accuracy=0.5, grad_norm=math.inf, learning_rate=1e-3, tokens=100, samples=10, seconds=0.5)
        with report.checkpoint():
            pass
        report.set("train_nan", math.nan)
        report.close()
        values = agent.values()
        self.assertEqual(values["train_loss"], 1.0)
        self.assertEqual(values["train_grad_norm"], "Infinity")
        self.assertEqual(values["train_nan"], "NaN")
        self.assertEqual(values["train_tokens_per_second"], 200.0)
        self.assertEqual(values["train_samples_per_second"], 20.0)
        self.assertEqual(values["train_step_total"], 2.0)
        self.assertEqual(values["train_gpus"], 8.0)
        self.assertAlmostEqual(values["train_pipeline_bubble_ratio"], 3 / 11)
        for name in ("train_data_load_seconds", "train_allreduce_seconds", "train_checkpoint_seconds_total"):
            self.assertGreater(values[name], 0, name)
        path, _, body = agent.got[-1]
        self.assertEqual(path, "/v1/metrics")
        point = body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"][0]
        labels = {a["key"]: a["value"]["stringValue"] for a in point["attributes"]}
        self.assertEqual(labels, {"job_id": "42", "rank": "3", "node": "n1", "model": "tiny"})

    def test_token(self):
        agent, folder = self.agent(), self.folder()
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="utf-8") as f:
            f.write("secret\n")
        report = warpwatch.Reporter(url=agent.url, token_file=token)
        report.step(loss=1)
        report.close()
        self.assertEqual(agent.got[0][1]["Authorization"], "Bearer secret")
        with self.assertLogs("warpwatch") as logs:
            warpwatch.Reporter(url="http://node7:9847/v1/metrics", token_file=token).step(loss=1)
        self.assertIn("over https, or to this host only", logs.output[0])

    def test_the_agents_complaint_is_said_once(self):
        agent = self.agent(answer=b'{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"gpu_x: reserved"}}')
        report = warpwatch.Reporter(url=agent.url, interval=0.05)
        with self.assertLogs("warpwatch") as logs:
            report.set("gpu_x", 1)
            with agent.arrived:
                agent.arrived.wait_for(lambda: agent.got, 10)
            report.set("gpu_x", 2)
            report.close()
        self.assertEqual(len(logs.output), 1)
        self.assertIn("gpu_x: reserved", logs.output[0])

    def test_only_the_newest_waits(self):
        agent = self.agent()
        report = warpwatch.Reporter(url=agent.url, interval=3600)
        report.step(loss=-1)
        with agent.arrived:
            agent.arrived.wait_for(lambda: agent.got, 10)
        for i in range(1000):
            report.step(loss=i)
        report.close()
        self.assertEqual(len(agent.got), 2)
        self.assertEqual(agent.values()["train_loss"], 999.0)


class NeverRaises(Case):
    def test_nobody_listens(self):
        agent = Agent()
        agent.stop()
        report = warpwatch.Reporter(url=agent.url, timeout=0.2)
        with self.assertLogs("warpwatch"):
            report.step(loss=1)
            report.close()
        report.step(loss=2)
        report.close()

    def test_nonsense(self):
        with self.assertLogs("warpwatch"):
            for report in (warpwatch.Reporter(url="ftp://x"), warpwatch.Reporter(textfile_dir="/nonexistent/folder")):
                report.step(loss=object(), tokens="many", **{"no name": 1})
                report.set(None, 1)
                report.add("x_total", "a")
                report.pipeline(0, 1)
                report.model(parameters="a")
                report.close()
            warpwatch.Reporter(interval="often").close()
            self.assertIsNone(warpwatch.attach_torchtitan(None, report))

    def test_one_value_that_is_none_leaves_the_others(self):
        agent = self.agent()
        report = warpwatch.Reporter(url=agent.url, interval=3600)
        with self.assertLogs("warpwatch") as logs:
            report.step(loss="N/A", grad_norm=[1, 2], learning_rate=0.5, tokens="many")
            report.close()
        self.assertEqual(agent.values()["train_learning_rate"], 0.5)
        self.assertNotIn("train_loss", agent.values())
        self.assertIn("train_loss is not reported", logs.output[0])

    def test_a_copy_begins_anew(self):
        report = warpwatch.Reporter(job_id="7", rank=3, textfile_dir=self.folder(), timeout=1.5)
        report.step(loss=1)
        callback = warpwatch.lightning_callback(report)
        again = pickle.loads(pickle.dumps(callback)), copy.deepcopy(report)
        self.assertEqual(type(again[0]).__name__, "WarpwatchCallback")
        self.assertEqual((again[1]._labels, again[1]._timeout), (report._labels, 1.5))
        again[1].close()
        self.assertIsNone(again[1]._thread, "there was nothing to send")
        report.close()

    def test_a_worker_of_a_loader_reports_nothing(self):
        for info, want in ((object(), False), (None, True)):
            data = types.SimpleNamespace(get_worker_info=lambda info=info: info)
            with mock.patch.dict(sys.modules, {"torch.utils.data": data}):
                report = warpwatch.Reporter(textfile_dir=self.folder())
                report.step(loss=1)
                self.assertEqual(report._thread is not None, want)
                report.close()

    def test_a_sink_that_hangs_holds_up_nobody(self):
        let_go, entered = threading.Event(), threading.Event()
        report = warpwatch.Reporter(textfile_dir=self.folder(), timeout=0)
        report._sink.send = lambda *_: (entered.set(), let_go.wait(60))[1]
        report._sink.close = mock.Mock(side_effect=OSError("stale file handle"))
        report.step(loss=1)
        self.assertTrue(entered.wait(10))
        report.close()
        report._sink.close.assert_not_called()  # it would hang, too
        let_go.set()
        report._thread.join(10)
        report._sink.close.assert_called_once()

    def test_too_many_metrics(self):
        report = warpwatch.Reporter(textfile_dir=self.folder())
        with self.assertLogs("warpwatch") as logs:
            for i in range(warpwatch._MAX_METRICS + 50):
                report.set("m%d" % i, 1)
        self.assertEqual(len(report._gauges), warpwatch._MAX_METRICS)
        self.assertLessEqual(len(logs.output), 20)
        report.close()

    def test_off(self):
        os.environ["WARPWATCH_OFF"] = "1"
        report = warpwatch.Reporter()
        report.step(loss=1)
        self.assertIsNone(report._thread)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_child_reports_nothing_and_ends(self):
        code = """
import os, warpwatch
r = warpwatch.Reporter(textfile_dir={0!r}, rank=1, job_id="a", interval=0.05)
r.step(loss=1)
pid = os.fork()
if pid == 0:
    r.step(loss=2); r.close(); os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
r.close()
assert not os.listdir({0!r}), os.listdir({0!r})
""".format(self.folder())
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60, cwd=os.path.dirname(os.path.abspath(__file__)))


class Textfile(Case):
    def test_written_whole_and_taken_away(self):
        folder = self.folder()
        report = warpwatch.Reporter(textfile_dir=folder, job_id='a/"b"\n', rank=0)
        sent = threading.Event()
        send = report._sink.send
        report._sink.send = lambda *a: (send(*a), sent.set())[0]
        report.step(step=7, loss=math.nan)
        self.assertTrue(sent.wait(10))
        self.assertEqual(os.listdir(folder), ["warpwatch_a__b___0.prom"])
        with open(os.path.join(folder, "warpwatch_a__b___0.prom"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn('train_loss{job_id="a/\\"b\\"\\n",rank="0"} NaN\n', text)
        self.assertIn('# TYPE train_step_total counter\ntrain_step_total{job_id="a/\\"b\\"\\n",rank="0"} 7.0\n', text)
        report.close()
        self.assertEqual(os.listdir(folder), [])

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no pipes here")
    def test_what_others_put_in_its_way(self):
        folder = self.folder()
        sink = warpwatch._Textfile(folder, {"job_id": "a"})
        victim = os.path.join(folder, "victim")
        with open(victim, "w", encoding="utf-8") as f:
            f.write("precious")
        for put in (lambda: os.symlink(victim, sink.draft), lambda: os.mkfifo(sink.draft)):
            put()
            sink.send({"job_id": "a"}, {"train_loss": 1.0}, {}, 0, 0)
            with open(sink.path, encoding="utf-8") as f:
                self.assertIn('train_loss{job_id="a"} 1.0', f.read())
        with open(victim, encoding="utf-8") as f:
            self.assertEqual(f.read(), "precious")

    def test_a_loop_that_ends_without_close_is_flushed(self):
        agent = self.agent()
        code = "import warpwatch; warpwatch.Reporter(url=%r, interval=3600).step(loss=5)\n" % agent.url
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(agent.values()["train_loss"], 5.0)


class FakeTensor:
    is_cuda, device = True, "cuda:0"

    def __init__(self, torch, value):
        self.torch, self.value = torch, value

    def detach(self):
        return self

    def to(self, device, non_blocking):
        assert device == "cpu" and non_blocking
        return self.value

    def __float__(self):
        raise AssertionError("this would wait for the GPU")


class FakeTorch(types.ModuleType):
    def __init__(self):
        super().__init__("torch")
        self.done = False
        event = types.SimpleNamespace(query=lambda: self.done)
        self.cuda = types.SimpleNamespace(
            is_initialized=lambda: True, current_device=lambda: 1,
            current_stream=lambda device: types.SimpleNamespace(record_event=lambda: event),
            get_device_properties=lambda i: types.SimpleNamespace(uuid="1234-%d" % i),
            memory_stats=lambda i: {"allocated_bytes.all.current": 10, "reserved_bytes.all.current": 20,
                                    "inactive_split_bytes.all.current": 5, "num_alloc_retries": 1, "num_ooms": 0})


class Torch(Case):
    def setUp(self):
        super().setUp()
        self.torch = FakeTorch()
        patch = mock.patch.dict(sys.modules, {"torch": self.torch})
        patch.start()
        self.addCleanup(patch.stop)
        self.report = warpwatch.Reporter(textfile_dir=self.folder())
        self.addCleanup(self.report.close)

    def test_tensors_are_not_waited_for(self):
        self.report.step(loss=FakeTensor(self.torch, 1.5))
        self.assertNotIn("train_loss", self.report._gauges)
        self.report.step(loss=FakeTensor(self.torch, 2.5))
        self.torch.done = True
        self.report.step(loss=FakeTensor(self.torch, 3.5))
        self.assertEqual(self.report._gauges["train_loss"], 3.5)

    def test_distributed_tensors_are_left_alone(self):
        with self.assertLogs("warpwatch"):
            self.report.step(loss=types.SimpleNamespace(full_tensor=None))
        self.assertNotIn("train_loss", self.report._gauges)

    def test_memory_and_gpu(self):
        self.report.step(loss=1)
        self.assertEqual(self.report._gauges["train_memory_inactive_split_bytes"], 5.0)
        self.assertEqual(self.report._counters["train_alloc_retries_total"], 1.0)
        self.assertEqual(self.report._labels["gpu_uuid"], "GPU-1234-1")

    def test_mig(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = "MIG-a,MIG-b"
        self.assertEqual(warpwatch._device(self.torch, None), {"mig_uuid": "MIG-b"})


class Frameworks(Case):
    def setUp(self):
        super().setUp()
        self.report = warpwatch.Reporter(textfile_dir=self.folder())
        self.addCleanup(self.report.close)

    def test_lightning(self):
        base = type("Callback", (), {})
        pytorch = types.ModuleType("lightning.pytorch")
        pytorch.Callback = base
        with mock.patch.dict(sys.modules, {"lightning": types.ModuleType("lightning"), "lightning.pytorch": pytorch}):
            callback = warpwatch.lightning_callback(self.report, samples=len)
        self.assertIsInstance(callback, base)
        trainer = types.SimpleNamespace(world_size=2, global_step=9, callback_metrics={"train_acc": 0.75},
                                        optimizers=[types.SimpleNamespace(param_groups=[{"lr": 0.1}])])
        module = types.SimpleNamespace(parameters=lambda: [types.SimpleNamespace(numel=lambda: 7)])
        callback.on_train_start(trainer, module)
        callback.on_train_batch_end(trainer, module, {"loss": 0.5}, [1, 2], 0)
        self.assertEqual(self.report._gauges["train_loss"], 0.5)
        self.assertEqual(self.report._gauges["train_learning_rate"], 0.1)
        self.assertEqual(self.report._gauges["train_accuracy_ratio"], 0.75)
        self.assertEqual(self.report._gauges["train_model_parameters"], 7)
        self.assertEqual(self.report._counters["train_step_total"], 9)
        callback.on_train_end(trainer, module)

    def test_torchtitan(self):
        logged = []
        processor = types.SimpleNamespace(logger=types.SimpleNamespace(log=lambda m, s: logged.append((m, s)), close=lambda: "closed"))
        warpwatch.attach_torchtitan(processor, self.report)
        metrics = {"loss_metrics/global_avg_loss": 2.0, "mfu(%)": 40.0, "memory/max_reserved(GiB)": 2.0, "memory/num_ooms": 1, "x": "y"}
        processor.logger.log(metrics, 5)
        self.assertEqual(logged, [(metrics, 5)])
        self.assertEqual(processor.logger.close(), "closed")
        self.assertEqual(self.report._gauges["train_loss"], 2.0)
        self.assertAlmostEqual(self.report._gauges["train_mfu_ratio"], 0.4)
        self.assertEqual(self.report._gauges["train_memory_reserved_bytes"], 2 << 30)
        self.assertEqual(self.report._counters["train_ooms_total"], 1)
        self.assertEqual(self.report._counters["train_step_total"], 5)

    def test_megatron(self):
        for inner in (None, mock.Mock()):
            holder = types.SimpleNamespace(_GLOBAL_TENSORBOARD_WRITER=inner)
            warpwatch.attach_megatron(holder, self.report)
            writer = holder._GLOBAL_TENSORBOARD_WRITER
            self.assertTrue(writer)
            writer.add_scalar("lm loss", 1.25, 3)
            writer.add_scalar("lm loss vs samples", 9.0, 384)
            writer.add_text("args", "x")
            if inner is not None:
                inner.add_scalar.assert_any_call("lm loss", 1.25, 3)
                inner.add_text.assert_called_once()
        self.assertEqual(self.report._gauges["train_loss"], 1.25)
        self.assertEqual(self.report._counters["train_step_total"], 3)

    def test_what_the_frameworks_call_otherwise_is_passed_on(self):
        inner = mock.Mock()
        holder = types.SimpleNamespace(_GLOBAL_TENSORBOARD_WRITER=inner)
        warpwatch.attach_megatron(holder, self.report)
        holder._GLOBAL_TENSORBOARD_WRITER.add_scalar("lm loss", scalar_value=2.0, global_step=8)
        inner.add_scalar.assert_called_once_with("lm loss", scalar_value=2.0, global_step=8)
        self.assertEqual(self.report._gauges["train_loss"], 2.0)
        processor = types.SimpleNamespace(logger=mock.Mock())
        inner = processor.logger
        warpwatch.attach_torchtitan(processor, self.report)
        with self.assertLogs("warpwatch"):
            processor.logger.log("no dict", step=1)
            processor.logger.log({"grad_norm": "many"}, step=1)
        self.assertEqual(inner.log.call_count, 2)

    def test_deepspeed(self):
        engine = types.SimpleNamespace(monitor=mock.Mock(enabled=False), global_steps=4)
        inner = engine.monitor
        warpwatch.attach_deepspeed(engine, self.report)
        self.assertTrue(engine.monitor.enabled)
        engine.monitor.write_events([("Train/Samples/train_loss", 0.25, 128),
                                     ("Train/Samples/elapsed_time_ms_backward_allreduce", 20.0, 128)])
        inner.write_events.assert_not_called()
        self.assertEqual(self.report._gauges["train_loss"], 0.25)
        self.assertAlmostEqual(self.report._gauges["train_allreduce_seconds"], 0.02)
        self.assertEqual(self.report._counters["train_step_total"], 4)


if __name__ == "__main__":
    unittest.main()
